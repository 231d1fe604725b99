import pytest

from tests.checks.conversion.made import lacking, made
from trimtab.config.load import parse_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.errors import InputError

AXOLOTL = """
base_model: NousResearch/Llama-2-7b-hf
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
adapter: lora
lora_r: 16
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-4
lr_scheduler: cosine
warmup_steps: 10
bf16: true
"""


def test_it_says_first_what_a_recipe_would_need():
    conversion = made(AXOLOTL)
    assert not conversion.is_trainable
    assert "name the folder of a Llama, Mistral or Qwen model" in conversion.notes[0]
    assert "this is a draft and no recipe" in conversion.recipe_text.splitlines()[1]
    with pytest.raises(InputError, match=r"model\.path: there is no model"):
        parse_recipe(conversion.recipe_text)


def test_values_with_a_counterpart_are_written():
    tree = read_yaml(made(AXOLOTL).recipe_text, name="f").value
    assert tree["data"]["train"] == [{"text": "tatsu-lab/alpaca"}]
    assert tree["model"] == {"kind": "pretrained", "path": "NousResearch/Llama-2-7b-hf"}
    assert tree["step"]["tokens_per_step"] == 2 * 2048 * 4
    assert tree["step"]["schedule"] == {"kind": "cosine", "warmup": "10 steps"}
    assert (tree["step"]["precision"], tree["length"]) == ("bf16_mixed", "3 epochs")


def test_values_without_one_are_named():
    assert lacking(AXOLOTL) == ["datasets.0.type", "adapter", "lora_r"]
