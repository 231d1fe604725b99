"""Lengths of schedules and what they are made with: inputs of each kind, and twins that are right."""

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    s139_optimizer_of_old_weights,
    s159_schedule_of_another_optimizer,
    s160_schedule_in_another_unit,
)

HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, OneCycleLR, StepLR
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup, get_scheduler
epochs, accumulation = 3, 8
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
"""


def said(rule, text):
    return severities(rule, "train.py", text)


def by_batch(schedule):
    return HEAD + (
        f"schedule = {schedule}\nfor epoch in range(epochs):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n        schedule.step()\n"
    )


def by_step(schedule):
    return HEAD + (
        f"schedule = {schedule}\nfor epoch in range(epochs):\n    for i, (x, y) in enumerate(loader):\n"
        "        (F.cross_entropy(model(x), y) / accumulation).backward()\n"
        "        if (i + 1) % accumulation == 0:\n            optimizer.step()\n            schedule.step()\n"
        "            optimizer.zero_grad()\n"
    )


def by_epoch(schedule):
    return by_batch(schedule).replace("        schedule.step()", "    schedule.step()")


@for_each(
    "text",
    [
        by_step("get_linear_schedule_with_warmup(optimizer, 100, len(loader) * epochs)"),
        by_step("get_cosine_schedule_with_warmup(optimizer, 100, num_training_steps=epochs * len(loader))"),
        by_step("OneCycleLR(optimizer, 1e-3, total_steps=len(loader) * epochs)"),
        by_step("CosineAnnealingLR(optimizer, T_max=len(loader) * epochs)"),
        by_step("get_scheduler('linear', optimizer, 0, total)").replace(
            "schedule =", "total = len(loader) * 3\nschedule ="
        ),
        by_batch("get_linear_schedule_with_warmup(optimizer, 0, len(loader))"),
        by_batch("get_linear_schedule_with_warmup(optimizer, 0, epochs)"),
        by_batch("CosineAnnealingLR(optimizer, epochs)"),
        by_batch("CosineAnnealingLR(optimizer, T_max=3)"),
        by_epoch("get_linear_schedule_with_warmup(optimizer, 0, len(loader) * epochs)"),
        by_epoch("CosineAnnealingLR(optimizer, T_max=len(loader) * epochs)"),
    ],
)
def test_a_length_is_counted_in_the_steps_of_its_schedule(text):
    assert said(s160_schedule_in_another_unit, text) == ["warning"]


@for_each(
    "text",
    [
        by_step("get_linear_schedule_with_warmup(optimizer, 100, len(loader) // accumulation * epochs)"),
        by_step(
            "get_linear_schedule_with_warmup(optimizer, 100, math.ceil(len(loader) / accumulation) * epochs)"
        ),
        by_step("get_linear_schedule_with_warmup(optimizer, 100, args.max_steps)"),
        by_step("get_linear_schedule_with_warmup(optimizer, 100, len(other) * epochs)"),
        by_batch("get_linear_schedule_with_warmup(optimizer, 100, len(loader) * epochs)"),
        by_batch("get_linear_schedule_with_warmup(optimizer, 0, len(loader))").replace(
            "epochs, accumulation = 3", "epochs, accumulation = 1"
        ),
        by_batch("CosineAnnealingLR(optimizer, T_max=len(loader))"),
        by_batch("StepLR(optimizer, 30)"),
        by_batch("get_linear_schedule_with_warmup(optimizer, 0, 10_000)"),
        by_epoch("CosineAnnealingLR(optimizer, T_max=epochs)"),
        by_epoch("get_linear_schedule_with_warmup(optimizer, 1, epochs)"),
    ],
)
def test_a_length_in_the_right_unit_is_left_alone(text):
    assert said(s160_schedule_in_another_unit, text) == []


PREPARED = """\
from accelerate import Accelerator
from transformers import get_scheduler
accelerator = Accelerator({given})
{before}model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps={length})
{prepared}for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
"""


@for_each(
    ("changes", "told"),
    [
        ({}, ["warning"]),
        ({"length": "epochs * len(loader)"}, ["warning"]),
        ({"length": "math.ceil(len(loader) / 4) * 3"}, ["warning"]),
        ({"length": "total", "between": "total = len(loader) * 3\n"}, ["warning"]),
        ({"given": "mixed_precision='bf16'"}, ["warning"]),
        ({"before": "total = 3 * len(loader)\n", "length": "total"}, []),
        ({"length": "3 * len(loader) * accelerator.num_processes"}, []),
        ({"given": "split_batches=True"}, []),
        ({"prepared": ""}, []),
        ({"length": "args.max_steps"}, []),
    ],
)
def test_a_prepared_schedule_counts_the_batches_of_all_processes(changes, told):
    parts = {
        "given": "",
        "before": "",
        "length": "3 * len(loader)",
        "prepared": "schedule = accelerator.prepare(schedule)\n",
    }
    parts |= {name: value for name, value in changes.items() if name != "between"}
    text = PREPARED.format(**parts).replace("schedule = get", changes.get("between", "") + "schedule = get")
    assert said(s160_schedule_in_another_unit, text) == told


LOOP = (
    "for x, y in loader:\n    optimizer.zero_grad()\n    F.cross_entropy(model(x), y).backward()\n"
    "    optimizer.step()\n    schedule.step()\n"
)
AGAIN = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
RATE = "for group in optimizer.param_groups:\n    group['lr'] = 1e-5\n"
WARM = "schedule = get_linear_schedule_with_warmup(optimizer, 100, 1000)\n"


@for_each(
    ("text", "told"),
    [
        (WARM + AGAIN, ["error"]),
        ("schedule = StepLR(optimizer, 30)\n" + AGAIN, ["error"]),
        (
            "schedule = CosineAnnealingLR(optimizer, 30)\noptimizer = torch.optim.AdamW(groups, lr=1e-5)\n",
            ["error"],
        ),
        (
            "old = optimizer\nschedule = LinearLR(old)\noptimizer = torch.optim.Adam(model.parameters())\n",
            ["error"],
        ),
        (WARM + RATE, ["warning"]),
        ("schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)\n" + RATE, ["warning"]),
        (WARM + "optimizer.param_groups[0]['lr'] = 1e-5\n", ["warning"]),
        (AGAIN + WARM, []),
        (RATE + WARM, []),
        ("schedule = StepLR(optimizer, 30)\n" + RATE, []),
        (WARM + "if resumed:\n    for group in optimizer.param_groups:\n        group['lr'] = 1e-5\n", []),
        (WARM + "optimizer = wrapped(optimizer)\n", []),
        (WARM + "helper = torch.optim.SGD(head.parameters(), lr=0.1)\n", []),
    ],
)
def test_a_schedule_drives_the_optimizer_that_steps_at_the_rate_it_was_made_with(text, told):
    assert said(s159_schedule_of_another_optimizer, HEAD + text + LOOP) == told


GROUPED = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer\nmodel = AutoModelForCausalLM.from_pretrained(name)\n"
    "tokenizer = AutoTokenizer.from_pretrained({tokenizer})\ngroups = [\n"
    '    {{"params": [p for n, p in model.named_parameters() if "bias" in n], "weight_decay": 0.0}},\n'
    '    {{"params": [p for n, p in {other}.named_parameters() if "bias" not in n]}},\n]\n'
    "optimizer = torch.optim.AdamW(groups, lr=1e-5)\n{change}\n"
)


@for_each(
    ("parts", "told"),
    [
        ({}, ["note"]),
        ({"tokenizer": "'other/tokenizer'"}, ["note"]),
        ({"change": "tokenizer.add_tokens(new)\nmodel.resize_token_embeddings(len(tokenizer))"}, ["warning"]),
        ({"change": "model.resize_token_embeddings(50304)"}, ["warning"]),
        ({"change": "model.lm_head = torch.nn.Linear(8, 8)"}, ["warning"]),
        ({"tokenizer": "name"}, []),
        ({"other": "head"}, []),
        ({"change": "model = torch.compile(model)"}, []),
        ({"change": "model.resize_token_embeddings(size)"}, []),
    ],
)
def test_an_optimizer_of_groups_keeps_its_weights_too(parts, told):
    filled = {
        "tokenizer": "args.tokenizer",
        "other": "model",
        "change": "model.resize_token_embeddings(len(tokenizer))",
    }
    text = HEAD.replace("optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n", "")
    text += GROUPED.format(**(filled | parts)) + LOOP.replace("    schedule.step()\n", "")
    warned = severities(s139_optimizer_of_old_weights, "train.py", text)
    assert ["warning" if each == "error" else each for each in warned] == told
