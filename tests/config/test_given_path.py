from pathlib import Path

import pytest

from tests.children import printed
from tests.cli.refusal import has_four_parts
from tests.for_each import for_each
from trimtab.config.given_path import path_text
from trimtab.errors import InputError


@pytest.mark.parametrize("given", ["a/b", Path("a/b")])
def test_text_and_paths_are_taken(given):
    assert path_text(given, name="recipe", allowed="a recipe") == "a/b"


@for_each("given", [None, 3, {}, b"a", ["a"]])
def test_anything_else_is_refused_by_its_type(given):
    with pytest.raises(InputError) as caught:
        path_text(given, name="recipe", allowed="a recipe")
    assert has_four_parts(f"error: {caught.value}")
    assert caught.value.problems[0].got.startswith(f"{type(given).__name__}: ")


def calls_that_are_refused() -> None:
    import trimtab
    from trimtab.decode.given_texts import checked_documents

    calls = [
        trimtab.train, trimtab.smoke, trimtab.load_recipe, trimtab.load_model, trimtab.load_translator,
        trimtab.load_generator, lambda run: trimtab.replay(run, step=1), trimtab.check,
        lambda run: trimtab.generate("run", [run]), lambda run: trimtab.score("run", [run], ["a"]),
        lambda run: trimtab.generate("run", run or 1), lambda line: list(checked_documents([["a", line]])),
    ]  # fmt: skip
    for place, call in enumerate(calls):
        for given in (None, 2.5, 3):
            with pytest.raises(InputError) as caught:
                call(given)
            text = str(caught.value)
            assert all(part in text for part in ("got ", "allowed ", "fix ", " not a ")), (place, text)
    print(len(calls), "calls")


def test_calls_of_the_package_refuse_what_is_no_path_and_no_text(tmp_path, monkeypatch):
    # In a process of its own, since here the types of all arguments are looked at before they arrive.
    monkeypatch.chdir(tmp_path)
    assert printed(calls_that_are_refused) == "12 calls\n"
