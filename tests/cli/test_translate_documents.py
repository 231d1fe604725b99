import json
from types import SimpleNamespace

import pytest

from tests.cli.refusal import has_four_parts, refused


class Numbered:
    """Writes its input after the form of the documents."""

    setup = SimpleNamespace(tokenizer=None)

    def __init__(self, spec, **options) -> None:
        self.spec = spec

    def write_documents(self, lines, text, *, form, name) -> None:
        text.write(f"{form} {name} {lines.read().decode()}")


@pytest.fixture
def loaded(stand_in):
    stand_in("inference", load_translator=Numbered)


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_documents_are_translated_in_their_form(call, loaded, form):
    result = call("translate", "runs/x", "--documents", form, stdin="a\n\nb\n")
    assert (result.exit_code, result.stdout) == (0, f"{form} stdin a\n\nb\n")


@pytest.mark.parametrize("option", [("--n-best", "2"), ("--prefix", "x"), ("--prefix-file", "x.txt")])
def test_documents_go_alone(call, loaded, option):
    told = has_four_parts_of(call("translate", "runs/x", "--documents", "text", *option, stdin=""))
    assert f"cannot be combined with {option[0]}\n" in told


def test_an_evaluation_needs_files(call):
    assert "--documents" in has_four_parts_of(call("evaluate", "runs/x", "--source", "a"))


def test_an_evaluation_of_documents_takes_no_other_files(call):
    assert "leave" in has_four_parts_of(call("evaluate", "runs/x", "--documents", "a", "--source", "b"))


def test_an_evaluation_of_documents_is_printed(call, stand_in):
    class Report:
        def to_dict(self):
            return {"bleu": 1.0}

    asked = []
    stand_in(
        "evaluation.documents", evaluate_documents=lambda run, **options: asked.append(options) or Report()
    )
    result = call("evaluate", "runs/x", "--documents", "a.jsonl", "--json")
    assert json.loads(result.stdout) == {"bleu": 1.0}
    assert asked[0]["beam"] == 4


def has_four_parts_of(result):
    told = refused(result)
    assert has_four_parts(told)
    return told
