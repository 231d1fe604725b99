import json
import subprocess

import pytest

from tests.checks.conversion.made import made
from tests.checks.conversion.test_language_model import AXOLOTL, tree
from tests.pretrained_folder import pretrained_folder
from trimtab.checks.convert import convert
from trimtab.config.load import load_recipe

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


def test_what_is_done_otherwise_is_said():
    text = AXOLOTL.replace("chats.jsonl, type: chat_template", "tatsu-lab/alpaca, type: alpaca")
    notes = "\n".join(made(text + "lora_dropout: 0.05\ntokens: [<x>]\nval_set_size: 0.1\n").notes)
    assert 'load_dataset("tatsu-lab/alpaca"' in notes
    assert "### Instruction:" in notes
    assert "lora_dropout (0.05) is left out" in notes
    assert "extend the model before" in notes
    assert "hold rows out" in notes


@pytest.mark.slow
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


def test_a_command_makes_the_file_that_the_recipe_names():
    text = AXOLOTL.replace("chats.jsonl, type: chat_template", "a.jsonl, type: completion, field: body")
    conversion = made(text)
    assert "- {text: a.rows.jsonl, learn: all}" in conversion.recipe_text
    assert any("`jq -c '{text: .body}' a.jsonl > a.rows.jsonl`" in note for note in conversion.notes)


def test_named_validation_sets_are_written_and_a_share_is_a_command():
    held = tree(AXOLOTL + "test_datasets: [{path: dev.jsonl, type: chat_template}]\n")
    assert held["data"]["valid"] == {"text": "dev.jsonl", "learn": "answers"}
    share = made(AXOLOTL + "val_set_size: 0.02\n")
    assert any("awk 'NR % 50 == 0' chats.jsonl" in note for note in share.notes)
    count = made(AXOLOTL + "val_set_size: 200\n")
    assert any("head -n 200 chats.jsonl > chats.dev.jsonl && tail -n +201" in note for note in count.notes)


@pytest.mark.parametrize("share", ["0.25", "3"])
def test_the_command_that_holds_rows_out_loses_none(tmp_path, share):
    rows = [f"row {number}" for number in range(12)]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n")
    notes = made(AXOLOTL.replace("chats.jsonl", "train.jsonl") + f"val_set_size: {share}\n").notes
    command = next(note for note in notes if "hold rows out" in note).split("`")[1]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    kept, held = ((tmp_path / f"train.{part}.jsonl").read_text().splitlines() for part in ("train", "dev"))
    assert (len(held), sorted(kept + held)) == (3, sorted(rows))
    assert (tmp_path / "train.jsonl").read_text().splitlines() == rows


def test_prompts_that_are_learned_and_rows_that_are_not_read_are_named():
    notes = "\n".join(made(AXOLOTL + "train_on_inputs: true\n").notes)
    assert "written out in ChatML" in notes
    notes = "\n".join(made(AXOLOTL.replace("chat_template", "input_output")).notes)
    assert "rows of the form `input_output` are not read here" in notes
