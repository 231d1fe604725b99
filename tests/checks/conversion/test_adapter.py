import pytest

from tests.checks.conversion.made import made
from tests.checks.conversion.test_language_model import AXOLOTL, tree
from tests.for_each import for_each
from trimtab.errors import InputError


@for_each(
    ("more", "wanted"),
    [
        ("load_in_4bit: true\n", {"quantize_base": "nf4"}),
        ("peft_use_dora: true\n", {"dora": True}),
        ("peft_use_rslora: true\n", {"rslora": True}),
        ("lora_modules_to_save: [embed_tokens, lm_head]\n", {"embeddings": "train"}),
    ],
)
def test_kinds_of_adapter_are_those_of_the_recipe(more, wanted):
    text = AXOLOTL.replace("adapter: lora", "adapter: qlora") if "4bit" in more else AXOLOTL
    assert tree(text + more)["adapter"] == {"kind": "lora", "rank": 16, "alpha": 32.0, **wanted}


def test_training_of_all_weights_has_no_adapter():
    assert "adapter" not in tree("\n".join(line for line in AXOLOTL.splitlines() if "lora" not in line))


@pytest.mark.parametrize("kind", ["llama-adapter", "oft"])
def test_another_adapter_is_refused_by_its_name(kind):
    with pytest.raises(InputError, match="its adapter is of a kind") as caught:
        made(AXOLOTL.replace("adapter: lora", f"adapter: {kind}"))
    assert kind in str(caught.value)
