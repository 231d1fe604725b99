"""No command writes over a text that it reads, and none begins its work before it knows that."""

import pytest

from tests.cli.refusal import has_four_parts, refused


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A text in the working folder, and a link to it; whoever loads a model fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").write_text("mine\n")
    (tmp_path / "link.en").symlink_to("a.en")
    return tmp_path / "a.en"


@pytest.mark.parametrize("output", ["a.en", "./a.en", "link.en"])
@pytest.mark.parametrize(
    "command",
    [
        ("translate", "run", "--input", "a.en"),
        ("translate", "run", "--input", "a.en", "--n-best", "2"),
        ("translate", "run", "--input", "a.en", "--documents", "text"),
        ("translate", "run", "--prefix-file", "a.en"),
        ("generate", "run", "--input", "a.en"),
        ("generate", "run", "--input", "a.en", "--json"),
    ],
    ids=" ".join,
)
def test_a_text_that_is_read_is_not_written_over(call, stand_in, text, command, output):
    def loaded(*_, **__):
        raise AssertionError("the model was loaded")

    stand_in("inference", load_translator=loaded, load_generator=loaded)
    message = refused(
        call(*command, "--output", output, stdin="x\n"), "is the same file as", "a.en", output[-4:]
    )
    assert has_four_parts(message)
    assert text.read_text() == "mine\n"
    assert (text.parent / "link.en").is_symlink()


@pytest.mark.parametrize("command", [("translate", "run"), ("generate", "run")], ids=" ".join)
def test_a_missing_folder_of_the_output_is_told_before_the_model_is_loaded(call, stand_in, text, command):
    def loaded(*_, **__):
        raise AssertionError("the model was loaded")

    stand_in("inference", load_translator=loaded, load_generator=loaded)
    result = call(*command, "--input", text, "--output", "no such/o.de")
    assert has_four_parts(refused(result, "No such file or directory", "no such/o.de"))


def test_scores_are_not_appended_to_a_text_that_is_being_read(text, monkeypatch):
    import sys

    from trimtab.cli.score import score
    from trimtab.errors import InputError

    with text.open("a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(InputError, match="standard output: is the same file as --target"):
            score("run", text.parent / "missing", text)
