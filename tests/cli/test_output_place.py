import os
import sys
from pathlib import Path

import pytest

from trimtab.cli.output_place import check_output, check_place
from trimtab.errors import InputError


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A text of somebody's, with other names for it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.en"
    path.write_text("mine\n")
    (tmp_path / "link").symlink_to("a.en")
    os.link(path, tmp_path / "twin")
    (tmp_path / "folder").symlink_to(tmp_path)
    return path


NAMES = ("a.en", "./a.en", "link", "twin", "folder/a.en")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["--input", "--prefix-file"])
def test_an_output_that_is_an_input_by_any_name_is_refused(text, name, option):
    for output, source in ((Path(name), text), (text, Path(name))):
        with pytest.raises(InputError, match="is the same file as") as caught:
            check_output(output, inputs={"--other": None, option: source})
        (problem,) = caught.value.problems
        assert str(output) in problem.what
        assert f"{option} {source}" in problem.what
        assert problem.got
        assert problem.allowed
        assert problem.fix


def test_standard_input_and_output_count_where_they_are_files(text, monkeypatch):
    with text.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(InputError, match="--output twin: is the same file as standard input"):
            check_output(Path("twin"), inputs={"--input": None})
        check_output(Path("twin"), inputs={"--source": None})
    with text.open("a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(InputError, match=r"standard output: is the same file as --source a\.en"):
            check_output(None, inputs={"--source": Path("a.en")})


def test_other_files_devices_and_missing_inputs_pass(text):
    (text.parent / "b.de").write_text("mine\n")
    check_output(Path("b.de"), inputs={"--input": text})
    check_output(Path("new.de"), inputs={"--input": text, "--prefix-file": text})
    check_output(Path("b.de"), inputs={"--input": Path("missing")})
    check_output(Path("/dev/null"), inputs={"--input": Path("/dev/null")})
    check_output(None, inputs={"--input": text})


@pytest.mark.parametrize(
    "name", ["recipe.yaml", "metrics.jsonl", "tokenizer/sentencepiece.model", "checkpoints/step-00000020/x"]
)
@pytest.mark.parametrize("model", ["run", "run@20", "run/checkpoints/step-00000020"])
def test_an_output_that_a_run_is_made_of_is_refused(tmp_path, monkeypatch, name, model):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run" / "checkpoints" / "step-00000020").mkdir(parents=True)
    (tmp_path / "run" / "tokenizer").mkdir()
    (tmp_path / "run" / name).touch()
    (tmp_path / "run" / "dev.de").touch()
    with pytest.raises(InputError, match="is part of the model"):
        check_output(Path("run") / name, inputs={}, models=["other", model])
    check_output(Path("run/dev.de"), inputs={}, models=[model])


def test_an_output_that_an_export_is_made_of_is_refused(tmp_path):
    (tmp_path / "trimtab").mkdir()
    (tmp_path / "trimtab" / "export.json").touch()
    (tmp_path / "config.json").touch()
    with pytest.raises(InputError, match="is part of the model"):
        check_output(tmp_path / "config.json", inputs={}, models=[str(tmp_path)])
    check_output(tmp_path / "new.de", inputs={}, models=[str(tmp_path)])


def test_a_place_where_no_file_can_be_made_is_told_with_what_stands_in_the_way(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for path, got in (
        (tmp_path / "no" / "a.de", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / "file" / "a.de", "Not a directory"),
    ):
        with pytest.raises(InputError, match=f"cannot be written\n  got     {got}\n  allowed .+\n  fix "):
            check_place(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="Permission denied"):
        check_place(tmp_path / "a.de")
    check_place(Path("/dev/null"))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a file system that takes no new files")
def test_a_file_system_that_takes_no_new_files_is_found_before_anything_is_written():
    with pytest.raises(InputError, match=r"--out /proc/self/page\.html: cannot be written") as caught:
        check_place(Path("/proc/self/page.html"), option="--out")
    assert caught.value.problems[0].fix == "create the folder, or name another file"
