import pytest

from trimtab.config.not_yet import not_yet
from trimtab.config.problems import complaints_about

RECIPE = {
    "task": "language_model",
    "data": {"train": [{"text": "a.txt"}], "valid": {"text": "b.txt"}, "tokenizer": {"kind": "bytes"}},
    "model": {"preset": "tiny"},
    "length": "2 steps",
}


def complaint(**changes):
    return complaints_about(RECIPE | changes)[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": {"kind": "pretrained", "path": "x"}}, "cannot fine-tune a pretrained model yet"),
        ({"adapter": {"kind": "lora"}}, "has no adapters (LoRA) yet"),
        ({"devices": 2}, "cannot train on several GPUs yet"),
        ({"model": {"path": "x"}}, "cannot fine-tune a pretrained model yet"),
    ],
)
def test_what_is_not_there_yet_is_named(changes, said):
    assert said in complaint(**changes).fix


def test_other_keys_have_other_advice():
    assert not_yet("step.lr") == not_yet("data.tokenizer.path") == ""


def test_the_task_says_the_kind_of_the_model():
    assert complaints_about(RECIPE) == []
