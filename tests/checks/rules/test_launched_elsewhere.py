"""Rules about 16-bit weights speak as far as the file says who holds the weights: the launcher may bring DeepSpeed."""

import json

import pytest

from tests.checks.examined import diagnosed
from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rule import Example
from trimtab.checks.rules import s301_updates_round_away as s301
from trimtab.checks.rules import s302_second_moment_rounds_away as s302
from trimtab.checks.rules import s305_autocast_over_half_weights as s305

RULES = pytest.mark.parametrize("rule", [s301, s302, s305], ids=lambda rule: rule.RULE.code)
VALUES = {
    "model_name_or_path": "Qwen/Qwen2.5-1.5B", "dtype": "bfloat16", "learning_rate": 1e-5, "bf16": True,
    "per_device_train_batch_size": 4, "output_dir": "out", "optim": "adamw_torch", "adam_beta2": 0.999,
    "use_peft": False,
}  # fmt: skip
TRL = {**VALUES, "dataset_text_field": "text", "packing": False}
OPTIONS = " ".join(f"--{key} {value}" for key, value in VALUES.items())
CELL = (
    "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2', dtype=torch.bfloat16)\n"
    "args = TrainingArguments(output_dir='out', per_device_train_batch_size=8, learning_rate=1e-5, "
    "optim='adamw_torch', adam_beta2=0.999, bf16=True)\n"
    "Trainer(model=model, args=args).train()\n"
)
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: {kind}\nnum_processes: 8\n"


def yaml(values):
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


@RULES
@pytest.mark.parametrize("values", [VALUES, TRL], ids=["Trainer", "TRL"])
def test_a_file_of_arguments_does_not_say_who_holds_the_weights(rule, values):
    assert severities(rule, "config.yaml", yaml(values)) == []


@RULES
def test_a_script_gets_a_note_with_the_condition(rule):
    (found,) = findings(rule, "train.py", CELL, versions="transformers=5.24.0")
    assert found.finding.severity == "note"
    assert "unless a launcher brings DeepSpeed" in found.finding.message


@RULES
def test_a_notebook_starts_itself(rule):
    cells = {"cell_type": "code", "source": CELL.splitlines(keepends=True), "metadata": {}, "outputs": []}
    text = json.dumps({"cells": [cells], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    (found,) = findings(rule, "train.ipynb", text, versions="transformers=5.24.0")
    assert found.finding.severity == rule.RULE.severity
    assert "unless" not in found.finding.message


@for_each(
    ("start", "count"),
    [
        ("python sft.py", 1),
        ("torchrun --nproc_per_node 8 sft.py", 1),
        ("trl sft", 0),
        ("accelerate launch sft.py", 0),
        ("accelerate launch --config_file elsewhere/zero3.yaml sft.py", 0),
        ("accelerate launch --config_file multi.yaml sft.py", 1),
        ("accelerate launch --config_file zero3.yaml sft.py", 0),
    ],
)
def test_a_launch_line_says_it_itself_or_by_the_file_that_it_names(start, count):
    beside = (
        ("multi.yaml", ACCELERATE.format(kind="MULTI_GPU")),
        ("zero3.yaml", ACCELERATE.format(kind="DEEPSPEED")),
    )
    options = " ".join((OPTIONS, "--dataset_text_field text"))
    example = Example("run.sh", f"{start} {options}\n", versions="trl=1.7 transformers=5.24", beside=beside)
    assert len(diagnosed(s302.check, example)) == count
