import json
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks import examine as module
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.examine import examine, examine_document, named_kind, recognise
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.registry import all_kinds
from trimtab.checks.read.document import read_document
from trimtab.errors import InputError

ARGS = b'{"output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 2e-5}'
LLAMAFACTORY = b"""\
model_name_or_path: some/model
stage: sft
do_train: true
finetuning_type: lora
template: default
output_dir: out
learning_rate: 1e-4
"""


def test_a_file_becomes_the_runs_that_it_describes():
    (run,) = examine("args.json", ARGS)
    assert (run.kind, run.tool) == ("hf-training", "transformers")
    assert run.value("learning_rate") == 2e-5


def test_scalars_are_read_as_the_tool_reads_them():
    (run,) = examine("train.yaml", LLAMAFACTORY)
    assert run.kind == "llamafactory"
    assert run.document.tree["learning_rate"] == 1e-4
    assert read_document("train.yaml", LLAMAFACTORY).tree["learning_rate"] == "1e-4"


@for_each("data", [b"", b"a: 1", b"- 1", b"text", b"name: ci\non: push\njobs: {}"])
def test_what_no_kind_knows_describes_nothing(data: bytes):
    assert examine("f.yaml", data) == []


def test_a_file_that_cannot_be_read_is_an_error_even_where_no_kind_would_know_it():
    with pytest.raises(InputError, match="a bracket is opened"):
        examine("f.yaml", b"a: [")


def test_the_user_may_say_the_kind():
    (run,) = examine("f.json", b'{"learning_rate": 1e-3}', as_kind="hf-training")
    assert run.kind == "hf-training"
    assert run.value("learning_rate") == 1e-3


def test_a_kind_of_one_syntax_decides_the_syntax_of_a_nameless_file():
    assert examine("-", b"T(a=1)", as_kind="launch") == []


@pytest.mark.parametrize(
    ("name", "fix"),
    [("hf_training", "--as hf-training"), ("Axolotl", "--as axolotl"), ("hf-trainin", "--as hf-training")],
)
def test_an_unknown_kind_names_the_nearest(name: str, fix: str):
    with pytest.raises(InputError) as caught:
        named_kind(name)
    assert fix in caught.value.problems[0].fix
    assert "hf-training" in caught.value.problems[0].allowed


def test_a_word_like_no_kind_has_no_suggestion():
    with pytest.raises(InputError, match="there is no such kind") as caught:
        named_kind("zzzzzzzz")
    assert caught.value.problems[0].fix == "name one of these"


def kind(name: str) -> Kind:
    def describe(document: Document, surroundings: Surroundings) -> list[Description]:
        return [Description(tool=name, kind=name, document=document, versions=surroundings.versions)]

    return Kind(
        name=name,
        tool=name,
        title=f"{name} files",
        syntaxes=frozenset({"yaml"}),
        recognises=lambda document: name in document.entries,
        describe=describe,
    )


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> tuple[Kind, Kind]:
    kinds = kind("one"), kind("other")
    monkeypatch.setattr(module, "kinds_of", lambda syntax: kinds)
    monkeypatch.setattr(module, "all_kinds", lambda: kinds)
    return kinds


def test_two_kinds_that_claim_a_file_are_a_question(two_kinds: tuple[Kind, Kind]):
    document = read_document("f.yaml", b"one: 1\nother: 2")
    with pytest.raises(InputError, match=r"f.yaml: whose configuration is it\?") as caught:
        recognise(document)
    assert caught.value.problems[0].got == "one files or other files"
    assert caught.value.problems[0].fix == "say it: `--as one` or `--as other`"
    assert [run.kind for run in examine("f.yaml", b"one: 1\nother: 2", as_kind="other")] == ["other"]


def test_a_kind_gets_what_stands_around(two_kinds: tuple[Kind, Kind]):
    around = Surroundings(versions={"trl": (1, 0, 0)})
    document = read_document("f.yaml", b"one: 1")
    assert recognise(document) is two_kinds[0]
    assert examine_document(document, surroundings=around)[0].versions == {"trl": (1, 0, 0)}
    assert examine_document(document, kind=two_kinds[1])[0].kind == "other"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SIGNS = [
    "output_dir",
    "learning_rate",
    "base_model",
    "datasets",
    "stage",
    "finetuning_type",
    "save_model",
    "data",
]
SIGNS += [
    "model",
    "training",
    "tasks",
    "peft_type",
    "zero_optimization",
    "compute_environment",
    "task",
    "step",
    "r",
]
SIGNS += [
    "per_device_train_batch_size",
    "distributed_type",
    "model_type",
    "architectures",
    "micro_batch_size",
]


@given(st.dictionaries(st.sampled_from(SIGNS), VALUES, max_size=8), st.sampled_from(all_kinds()))
def test_no_kind_stumbles_over_strange_values(tree: dict[str, object], kind: Kind):
    document = read_document("f.json", json.dumps(tree).encode())
    # What is no recipe of our own is refused with a message.
    with suppress(InputError) if kind.name == "recipe" else nullcontext():
        assert all(run.kind == kind.name for run in examine_document(document, kind=kind))
