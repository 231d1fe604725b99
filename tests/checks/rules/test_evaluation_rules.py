"""Evaluation in hand-made loops: its mode, its gradients, its averages and its sampler."""

import pytest

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    d123_evaluation_sampler_repeats,
    e108_evaluation_mode_left_on,
    e112_evaluation_with_gradients,
    e114_evaluated_in_training_mode,
    e115_trained_without_gradients,
    e116_loss_averaged_by_batch,
    p303_copy_that_waits,
    s128_mean_of_means,
)

HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
"""
MODEL = (
    "model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))\n"
    + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
)
STEP = "{0}optimizer.zero_grad()\n{0}F.cross_entropy(model(x), y).backward()\n{0}optimizer.step()\n"
TRAIN = "for epoch in range(9):\n    model.train()\n    for x, y in loader:\n" + STEP.format("        ")


def said(rule, text):
    return severities(rule, "train.py", text)


FIT = (
    "    def fit(self, a, b):\n        {}for e in range(3):\n            self.train_epoch(a)\n"
    "            self.evaluate(b)\n"
)
CLASS = (
    HEAD
    + """
class Runner:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
    def train_epoch(self, loader):
        {on}for x, y in loader:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
    def evaluate(self, loader):
        self.model.{off}
        with torch.no_grad():
            return sum(self.model(x).sum().item() for x in loader)
"""
)


@for_each(
    ("text", "told"),
    [
        (CLASS.format(on="", off="eval()"), ["warning"]),
        (CLASS.format(on="", off="eval()") + FIT.format(""), ["error"]),
        (CLASS.format(on="", off="eval()") + FIT.format("self.model.train()\n        "), ["error"]),
        (CLASS.format(on="", off="eval()").replace("evaluate", "validate"), ["warning"]),
        (CLASS.format(on="", off="eval()").replace("self.model", "self.net"), ["warning"]),
        (CLASS.format(on="self.model.train()\n        ", off="eval()"), []),
        (CLASS.format(on="", off="eval()") + "    def on(self):\n        self.model.train(True)\n", []),
        (CLASS.format(on="", off="half()"), []),
        (CLASS.format(on="", off="eval()").replace("            loss.backward()\n", ""), []),
    ],
)  # fmt: skip
def test_evaluation_mode_left_on_by_another_method(text, told):
    assert said(e108_evaluation_mode_left_on, text) == told


UNDER = "    with {context}:\n        for x, y in {loader}:\n            total += (model(x).argmax(-1) == y).sum()\n"


@for_each(
    ("body", "told"),
    [
        ("    model.train()\n" + UNDER, ["warning"]),
        ("    model.eval()\n    model.train()\n" + UNDER, ["warning"]),
        ("    with {context}:\n        model.train()\n        for x in {loader}:\n            model(x)\n", ["warning"]),
        ("    with {context}:\n        model.train()\n        print([model(x) for x in {loader}])\n", ["warning"]),
        ("    model.train()\n    with {context}:\n        print(sum(model(x) for x in {loader}))\n", ["warning"]),
        ("    model.eval()\n" + UNDER, []),
        ("    model.train(False)\n" + UNDER, []),
        ("    model.train()\n    model.eval()\n" + UNDER, []),
        ("    model.train()\n" + UNDER.replace("{loader}", "train_loader"), []),
    ],
)  # fmt: skip
def test_an_evaluation_that_switches_training_on(body, told):
    text = (
        HEAD
        + MODEL
        + "total = 0\ndef evaluate():\n"
        + body.replace("{context}", "torch.no_grad()").replace("{loader}", "val_loader")
    )
    rest = "    evaluate()\nmodel.eval()\n" if "eval()" not in body else "    evaluate()\n"
    assert said(e114_evaluated_in_training_mode, text + TRAIN.replace("total", "total") + rest) == told


INSIDE = "    model.train()\n    for x, y in loader:\n" + STEP.format("        ")


@for_each(
    ("context", "told"),
    [
        ("with torch.no_grad():", ["error"]),
        ("with torch.inference_mode():", ["error"]),
        ("with torch.set_grad_enabled(False):", ["error"]),
        ("with torch.autograd.no_grad():", ["error"]),
        ("with torch.autocast('cuda'), torch.no_grad():", ["error"]),
        ("with torch.set_grad_enabled(phase == 'train'):", []),
        ("with torch.set_grad_enabled(True):", []),
        ("with torch.enable_grad():", []),
        ("with torch.inference_mode(False):", []),
        ("if True:", []),
    ],
)
def test_training_needs_a_graph(context, told):
    assert said(e115_trained_without_gradients, HEAD + MODEL + context + "\n" + INSIDE) == told


def test_a_graph_that_is_made_outside_or_switched_on_again_is_one():
    outside = (
        HEAD
        + MODEL
        + "for x, y in loader:\n    loss = model(x).sum()\n    with torch.no_grad():\n        loss.backward()\n"
    )
    again = (
        HEAD
        + MODEL
        + "with torch.no_grad():\n    with torch.enable_grad():\n        model(x).sum().backward()\n"
    )
    assert said(e115_trained_without_gradients, outside) == []
    assert said(e115_trained_without_gradients, again) == []


MEAN = (
    "criterion = nn.CrossEntropyLoss({options})\ndef evaluate(batches):\n    model.eval()\n    total = count = 0\n"
    "    with torch.no_grad():\n        for x, y in batches:\n            loss = criterion(model(x), y)\n"
    "            total += {read}\n            count += 1\n    {end}\n"
)


@for_each(
    ("parts", "told"),
    [
        ({}, ["note"]),
        ({"end": "return math.exp(total / len(batches))"}, ["note"]),
        ({"end": "mean = total / len(batches)\n    return {'loss': mean, 'ppl': math.exp(mean)}"}, ["note"]),
        ({"end": "print('loss', total / len(batches))"}, ["note"]),
        ({"options": "ignore_index=-100, label_smoothing=0.1"}, ["note"]),
        ({"options": ""}, []),
        ({"options": "ignore_index=0, reduction='sum'"}, []),
        ({"end": "return total / count"}, []),
        ({"read": "loss.item() * (y != 0).sum().item()", "end": "return total / tokens"}, []),
    ],
)
def test_a_loss_by_batch_is_no_loss_by_token(parts, told):
    filled = {
        "options": "ignore_index=0",
        "read": "loss.item()",
        "end": "return total / len(batches)",
    } | parts
    assert (
        said(
            e116_loss_averaged_by_batch,
            HEAD + MODEL + MEAN.format(**filled) + TRAIN + "    evaluate(valid)\n",
        )
        == told
    )


SAMPLED = (
    "sampler = DistributedSampler({given})\nval_loader = DataLoader(valid, batch_size=8, sampler=sampler)\n"
    "def evaluate():\n    model.eval()\n    right = torch.zeros(())\n    with torch.no_grad():\n"
    "        for x, y in val_loader:\n            right += (model(x).argmax(-1) == y).sum()\n    {reduce}\n"
    "    return right\n"
)


@for_each(
    ("given", "reduce", "told"),
    [
        ("valid, shuffle=False", "torch.distributed.all_reduce(right)", ["note"]),
        ("valid, shuffle=False, drop_last=True", "torch.distributed.all_reduce(right)", ["note"]),
        ("valid, world, rank, False", "torch.distributed.reduce(right, 0)", ["note"]),
        ("valid, num_replicas=n, rank=r, shuffle=False", "right = accelerator.gather(right)", ["note"]),
        ("valid, shuffle=False", "pass", ["warning"]),
        ("valid", "torch.distributed.all_reduce(right)", []),
        ("valid, shuffle=True", "pass", []),
        ("valid, shuffle=False", "right = right[: len(valid)]", []),
    ],
)
def test_an_evaluation_counts_each_example_once(given, reduce, told):
    text = HEAD + MODEL + SAMPLED.format(given=given, reduce=reduce) + TRAIN + "    evaluate()\n"
    assert said(d123_evaluation_sampler_repeats, text) == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("out = model.inference(x)", ["note"]),
        ("out = model.module.inference(x, loader)", ["note"]),
        ("with torch.no_grad():\n        out = model.inference(x)", []),
    ],
)
def test_a_method_that_evaluates_all_at_once_needs_no_gradients_either(call, told):
    assert (
        said(e112_evaluation_with_gradients, HEAD + MODEL + TRAIN + f"    model.eval()\n    {call}\n") == told
    )


def test_a_method_that_switches_a_part_of_the_model_on_again_is_enough():
    text = (
        HEAD
        + MODEL
        + TRAIN.replace("    model.train()\n", "    model.train_custom()\n")
        + "    model.eval()\n"
    )
    assert said(e108_evaluation_mode_left_on, text) == []
    assert said(e108_evaluation_mode_left_on, text.replace("train_custom", "prepare_custom")) == ["error"]


def test_a_branch_that_is_never_taken_trains_nothing():
    shared = (
        "def run(x, y, optimizer=None):\n    loss = F.cross_entropy(model(x), y)\n    if optimizer is not None:\n"
        "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n    return loss\n"
    )
    test = "    model.eval()\n    for x, y in valid:\n        run(x, y{})\n"
    text = (
        HEAD + MODEL + shared + "for epoch in range(9):\n    model.train()\n    run(x, y, optimizer)\n" + test
    )
    assert said(e108_evaluation_mode_left_on, text.format("")) == []
    assert said(e108_evaluation_mode_left_on, text.format(", optimizer")) == ["error"]


COPY = "loader = DataLoader(data)\nfor x in loader:\n    y = x.{copy}\n    model(y).backward()\n    optimizer.step()\n"


@for_each(
    ("copy", "told"),
    [
        ("to('cuda', non_blocking=True)", 1),
        ("to(device, non_blocking=True)", 1),
        ("cuda(non_blocking=True)", 1),
        ("to(self.device, non_blocking=True)", 1),
        ("to(args.device, non_blocking=True)", 1),
        ("to(total.device, non_blocking=True)", 0),
        ("to(buffer_device, non_blocking=True)", 0),
        ("to('cpu', non_blocking=True)", 0),
    ],
)
def test_a_copy_to_the_host_needs_no_pinned_source(copy, told):
    text = HEAD + MODEL + COPY.format(copy=copy)
    assert len(severities(p303_copy_that_waits, "train.py", text)) == told


ACCUMULATES = (
    "from transformers import AutoModelFor{kind}, Trainer, TrainingArguments\n"
    "model = AutoModelFor{kind}.from_pretrained('m')\n"
    "args = TrainingArguments('out', learning_rate=1e-5, gradient_accumulation_steps=4)\n"
    "Trainer(model=model, args=args, train_dataset=data).train()\n"
)


@for_each(
    ("kind", "told"),
    [
        ("CausalLM", 1),
        ("Seq2SeqLM", 1),
        ("MaskedLM", 1),
        ("SequenceClassification", 0),
        ("ImageClassification", 0),
    ],
)
def test_means_of_as_many_examples_are_exact(kind, told):
    text = ACCUMULATES.format(kind=kind)
    assert len(severities(s128_mean_of_means, "train.py", text, versions="transformers=4.40.0")) == told
