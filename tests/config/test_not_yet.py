import re

from tests.for_each import for_each
from trimtab.config.adapter import LoraAdapter
from trimtab.config.not_yet import IN_ADAPTER, not_yet
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


@for_each(
    ("adapter", "said"),
    [
        ({"r": 8}, "write `rank`"),
        ({"lora_alpha": 8}, "write `alpha`"),
        ({"lora_dropout": 0.1}, "no dropout here"),
        ({"target_modules": ["q_proj"]}, "write `targets`"),
        ({"use_dora": True}, "write `dora`"),
        ({"use_rslora": True}, "write `rslora`"),
        ({"qlora": True}, "`quantize_base: nf4`"),
        ({"modules_to_save": ["lm_head"]}, "`embeddings: train`"),
        ({"bias": "none"}, "biases stay frozen"),
        ({"rank_pattern": {}}, "one rank"),
        ({"kind": "qlora"}, "`adapter: {kind: lora, quantize_base: nf4}`"),
        ("qlora", "`adapter: {kind: lora, quantize_base: nf4}`"),
        ("lora", "`{kind: lora}`"),
    ],
)
def test_what_others_call_a_key_of_an_adapter_beats_the_nearest_spelling(adapter, said):
    assert said in complaint(adapter=adapter).fix


def test_what_a_fix_for_an_adapter_names_are_keys_of_it():
    named = {word for fix in IN_ADAPTER.values() for word in re.findall(r"^write `(\w+)[:`]", fix)}
    assert named <= {*LoraAdapter.model_fields}
    assert not {*IN_ADAPTER} & {*LoraAdapter.model_fields}


def test_other_keys_have_other_advice():
    assert not_yet("step.lr") == not_yet("data.tokenizer.path") == ""


def test_the_task_says_the_kind_of_the_model():
    assert complaints_about(RECIPE) == []
