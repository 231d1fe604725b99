from tests.for_each import for_each
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


@for_each(
    ("changes", "said"),
    [
        ({"model": {"kind": "hf", "preset": "tiny"}}, "kind: pretrained, path: DIR_OR_HUB_NAME"),
        ({"lora": {"r": 16}}, "adapter: {kind: lora, rank: 16}"),
        ({"devices": 2}, "torchrun --nproc-per-node"),
        ({"model": {"preset": "tiny", "pretrained": "x"}}, "kind: pretrained, path: DIR_OR_HUB_NAME"),
    ],
)
def test_what_is_not_there_yet_is_named(changes, said):
    assert said in complaint(**changes).fix


def test_other_keys_have_other_advice():
    assert not_yet("step.lr") == not_yet("data.tokenizer.path") == ""


def test_the_task_says_the_kind_of_the_model():
    assert complaints_about(RECIPE) == []
