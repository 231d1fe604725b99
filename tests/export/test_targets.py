from pathlib import Path

import pytest

import trimtab.export
from tests.for_each import for_each
from trimtab.config.export_targets import facts_of
from trimtab.errors import InputError
from trimtab.export.target import Target
from trimtab.export.targets import TARGETS, build_target

FOLDERS = {
    path.name for path in Path(trimtab.export.__file__).parent.iterdir() if (path / "target.py").exists()
}


def test_every_target_that_can_be_named_is_one_in_a_folder_of_its_name():
    for name in TARGETS:
        for weights in facts_of(name).weights:
            target = build_target(name, weights)
            assert isinstance(target, Target)
            assert target.name == name
    assert set(TARGETS) == FOLDERS


@for_each("name", TARGETS)
def test_the_first_weights_are_exact_and_others_are_refused_with_those_there_are(name):
    assert facts_of(name).weights[0] == "float32"
    with pytest.raises(InputError) as caught:
        build_target(name, "int3")
    assert caught.value.problems[0].allowed == ", ".join(facts_of(name).weights)


@for_each(
    ("name", "target"),
    [
        ("ct2", "ctranslate2"),
        ("CTranslate", "ctranslate2"),
        ("huggingface", "hf"),
        ("torch-export", "torch_export"),
    ],
)
def test_a_target_by_another_name_is_sent_to_the_one_that_is_meant(name, target):
    with pytest.raises(InputError) as caught:
        build_target(name)
    assert caught.value.problems[0].fix == f"use --to {target}"
