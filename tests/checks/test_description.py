import pytest

from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting

PLACE = Place("args.json", 2, 3)


def setting(key, value, origin="file"):
    return Setting(key=key, value=value, place=PLACE, origin=origin)


RUN = Description(
    tool="transformers",
    kind="hf-training",
    document=Document(path="args.json", syntax="json", text=""),
    keys={"lr": setting("lr", 1e-3), "kwargs.a": setting("kwargs.a", 1), "kwargs.b": setting("kwargs.b", 2)},
    concepts={"learning_rate": setting("lr", 1e-3), "clip": setting("max_grad_norm", 1.0, "default")},
    versions={"transformers": (5, 24, 0)},
)


def test_a_concept_is_written_or_a_default_or_unknown():
    assert (RUN.value("learning_rate"), RUN.is_written("learning_rate")) == (1e-3, True)
    assert (RUN.value("clip"), RUN.is_written("clip")) == (1.0, False)
    assert (RUN.value("beta2"), RUN.setting("beta2"), RUN.is_written("beta2")) == (None, None, False)


def test_a_word_that_is_no_concept_is_a_mistake_of_the_rule():
    with pytest.raises(AssertionError, match="learning_rat"):
        RUN.setting("learning_rat")


def test_keys_of_the_tool_are_found_as_written_and_by_group():
    assert RUN.written("lr").value == 1e-3
    assert RUN.written("learning_rate") is None
    assert [each.value for each in RUN.below("kwargs")] == [1, 2]


def test_versions_are_compared_or_not_known():
    assert RUN.at_least("transformers", 5) is True
    assert RUN.at_least("transformers", 5, 25) is False
    assert RUN.at_least("peft", 0, 1) is None
    assert RUN.place == Place("args.json")
