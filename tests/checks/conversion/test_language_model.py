import pytest

from tests.checks.conversion.made import lacking, made
from trimtab.config.load import parse_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.errors import InputError

AXOLOTL = """
base_model: NousResearch/Llama-2-7b-hf
datasets: [{path: chats.jsonl, type: chat_template}]
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-4
lr_scheduler: cosine
warmup_steps: 10
bf16: true
"""


def tree(text, file="config.yaml"):
    return read_yaml(made(text, file).recipe_text, name="f").value


def test_a_model_that_is_not_there_is_named_with_the_command_that_brings_it():
    conversion = made(AXOLOTL)
    assert not conversion.is_trainable
    assert any("hf download NousResearch/Llama-2-7b-hf" in note for note in conversion.notes)
    with pytest.raises(InputError, match=r"model\.path: there is no model"):
        parse_recipe(conversion.recipe_text)


def test_values_with_a_counterpart_are_written():
    found = tree(AXOLOTL)
    assert found["data"]["train"] == [{"text": "chats.jsonl", "learn": "answers"}]
    assert found["model"] == {"kind": "pretrained", "path": "NousResearch/Llama-2-7b-hf"}
    assert found["adapter"] == {"kind": "lora", "rank": 16, "alpha": 32.0}
    assert found["step"]["tokens_per_step"] == 2 * 2048 * 4
    assert found["step"]["schedule"] == {"kind": "cosine", "warmup": "10 steps"}
    assert (found["step"]["precision"], found["length"]) == ("bf16_mixed", "3 epochs")
    assert lacking(AXOLOTL) == []
