import json

import pytest

from tests.checks.conversion.made import lacking, made
from tests.pretrained_folder import pretrained_folder
from trimtab.checks.convert import convert
from trimtab.config.load import load_recipe, parse_recipe
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
FACTORY = """
model_name_or_path: base
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: q_proj,v_proj
dataset: mine
dataset_dir: .
cutoff_len: 128
output_dir: out
per_device_train_batch_size: 1
learning_rate: 1.0e-4
num_train_epochs: 4.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
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


@pytest.mark.parametrize(
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


def test_what_is_done_otherwise_is_said():
    text = AXOLOTL.replace("chats.jsonl, type: chat_template", "tatsu-lab/alpaca, type: alpaca")
    notes = "\n".join(made(text + "lora_dropout: 0.05\ntokens: [<x>]\nval_set_size: 0.1\n").notes)
    assert 'load_dataset("tatsu-lab/alpaca"' in notes
    assert "### Instruction:" in notes
    assert "lora_dropout (0.05) is left out" in notes
    assert "extend the model before" in notes
    assert "name a validation file" in notes


def test_a_configuration_of_llamafactory_becomes_a_recipe_that_trains(tmp_path):
    from trimtab.launch import train

    pretrained_folder(tmp_path / "base")
    rows = [{"instruction": "say the", "input": word, "output": f"the {word}"} for word in "abcdefgh"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "dataset_info.json").write_text('{"mine": {"file_name": "rows.jsonl"}}')
    (tmp_path / "sft.yaml").write_text(FACTORY)
    conversion = convert(tmp_path / "sft.yaml")
    assert conversion.is_trainable, conversion.notes
    (tmp_path / "recipe.yaml").write_text(conversion.recipe_text)
    recipe = load_recipe(tmp_path / "recipe.yaml").recipe
    assert recipe.adapter.names == ("q_proj", "v_proj")
    assert (recipe.adapter.scale, str(recipe.step.schedule.warmup)) == (2.0, "0.4 epochs")
    short = ["length=2 steps", "step.schedule.warmup=1 steps", "step.precision=fp32"]
    report = train(tmp_path / "recipe.yaml", overrides=short, out=tmp_path / "run")
    assert report.run.is_dir()
