import pytest

from tests.checks.kinds.describing import values
from tests.checks.kinds.yaml_runs import told
from tests.for_each import for_each
from trimtab.checks.kinds.llamafactory import KIND
from trimtab.checks.kinds.llamafactory_parts.adapter import names_in

HEAD = "model_name_or_path: a\nstage: sft\ndo_train: true\noutput_dir: out\ndataset: b\n"


def run(more=""):
    return told(KIND, HEAD + more)


def test_lora_is_on_by_default_with_alpha_twice_the_rank():
    assert values(run(), "adapter", "lora_rank", "lora_alpha", "lora_targets") == (
        "lora",
        8,
        16.0,
        ["all-linear"],
    )
    assert values(run("lora_rank: 32\n"), "lora_alpha") == (64.0,)
    assert values(run("lora_rank: 32\nlora_alpha: 32\n"), "lora_alpha") == (32.0,)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ("finetuning_type: full\n", "none"),
        ("finetuning_type: oft\n", "oft"),
        ("quantization_bit: 4\n", "qlora"),
    ],
)
def test_methods_have_their_words(more, word):
    assert run(more).value("adapter") == word


@for_each(
    ("more", "is_frozen"),
    [
        ("", True),
        ("additional_target: embed_tokens,lm_head\n", False),
        ("resize_vocab: true\n", False),
        ("finetuning_type: full\n", False),
    ],
)
def test_embeddings_are_frozen_unless_something_trains_them(more, is_frozen):
    assert run(more).value("frozen_embeddings") is is_frozen


def test_names_stand_between_commas():
    assert names_in("a, b,,c") == ["a", "b", "c"]
    assert names_in(["a"]) is None


def test_pissa_is_a_way_to_begin():
    assert values(run("pissa_init: true\n"), "lora_init") == ("pissa",)
    assert values(run(), "lora_init") == ("default",)
