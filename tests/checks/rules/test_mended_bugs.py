"""Bugs that public training code had and mended: further inputs of each kind, and twins that are right."""

from textwrap import indent

import pytest

from tests.checks.rules.findings import findings, of_example, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    d122_shuffle_beside_sampler,
    e112_evaluation_with_gradients,
    e113_trained_in_evaluation_mode,
    e114_evaluated_in_training_mode,
    l115_ignore_index_of_another_value,
    l116_softmax_before_cross_entropy,
    p304_clipping_of_scaled_gradients,
    s137_gradients_never_cleared,
    s138_clip_after_step,
    s143_accumulated_loss_not_divided,
    s144_decay_on_norms_and_biases,
    s153_schedule_before_optimizer,
    s154_clip_of_partial_gradients,
    s155_accumulation_that_is_not_set,
    s156_own_loss_not_divided,
    s160_schedule_in_another_unit,
)

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
"""
ACCELERATE = """\
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, get_scheduler
gradient_accumulation_steps = 8
accelerator = Accelerator(gradient_accumulation_steps=gradient_accumulation_steps)
model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scheduler = get_scheduler("cosine", optimizer, num_warmup_steps=10, num_training_steps=steps)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
"""


def said(rule, text):
    return severities(rule, "train.py", text)


def loop(body, *, head=HEAD):
    return (
        head
        + "for epoch in range(3):\n    for i, (x, y) in enumerate(loader):\n"
        + indent(body, " " * 8)
        + "\n"
    )


BACKWARD = "optimizer.zero_grad()\nF.cross_entropy(model(x), y).backward()\n"


@for_each(
    ("steps", "told"),
    [
        ("scheduler.step()\noptimizer.step()", ["warning"]),
        ("if True:\n    scheduler.step()\n    optimizer.step()", ["warning"]),
        ("if i % 4 == 0:\n    scheduler.step()\n    optimizer.step()", ["warning"]),
        ("optimizer.step()\nscheduler.step()", []),
        ("if i % 4 == 0:\n    scheduler.step()\noptimizer.step()", []),
        ("scheduler.step(epoch)\noptimizer.step()", []),
        ("scheduler.step()\noptimizer.step()\nscheduler.step()", []),
    ],
)
def test_a_schedule_steps_behind_the_optimizer(steps, told):
    assert said(s153_schedule_before_optimizer, loop(BACKWARD + steps)) == told


def test_a_schedule_that_begins_each_epoch_is_one_epoch_ahead():
    train = (
        "def train():\n    {first}\n    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
        "for epoch in range(9):\n    train()\n{last}"
    )
    early = HEAD + train.format(first="scheduler.step()", last="")
    assert said(s153_schedule_before_optimizer, early) == ["warning"]
    late = HEAD + train.format(first="model.train()", last="    scheduler.step()\n")
    assert said(s153_schedule_before_optimizer, late) == []


ACCUMULATED = "(F.cross_entropy(model(x), y) / 4).backward()\n"
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "if (i + 1) % 4 == 0:\n    {}optimizer.step()\n    optimizer.zero_grad()"


@for_each(
    ("body", "told"),
    [
        (ACCUMULATED + CLIP + STEP.format(""), ["warning"]),
        (ACCUMULATED + CLIP.replace("norm", "value") + STEP.format(""), ["warning"]),
        (ACCUMULATED + STEP.format(CLIP + "    "), []),
        (BACKWARD + CLIP + "optimizer.step()", []),
    ],
)
def test_gradients_are_clipped_when_all_are_there(body, told):
    assert said(s154_clip_of_partial_gradients, loop(body)) == told


def test_accelerate_clips_where_it_synchronises():
    guarded = "        if accelerator.sync_gradients:\n            accelerator"
    assert said(s154_clip_of_partial_gradients, ACCELERATE) == []
    assert said(s154_clip_of_partial_gradients, ACCELERATE.replace(guarded, "        accelerator")) == [
        "warning"
    ]
    one = ACCELERATE.replace(guarded, "        accelerator").replace("_steps = 8", "_steps = 1")
    assert said(s154_clip_of_partial_gradients, one) == []


def test_a_clip_in_a_branch_behind_the_step_is_late_too():
    body = BACKWARD + "optimizer.step()\nif i > 3:\n    " + CLIP
    assert said(s138_clip_after_step, loop(body)) == ["error"]
    branch = BACKWARD + "if i > 3:\n    optimizer.step()\n" + CLIP
    assert said(s138_clip_after_step, loop(branch)) == []


def test_accelerate_accumulates_where_it_is_told_how_many_and_where():
    assert said(s155_accumulation_that_is_not_set, ACCELERATE) == []
    bare = ACCELERATE.replace("gradient_accumulation_steps=gradient_accumulation_steps", "")
    assert said(s155_accumulation_that_is_not_set, bare) == ["warning"]
    later = bare.replace("model = Auto", "accelerator.gradient_accumulation_steps = 8\nmodel = Auto")
    assert said(s155_accumulation_that_is_not_set, later) == []
    never = ACCELERATE.replace("with accelerator.accumulate(model)", "if True")
    assert said(s155_accumulation_that_is_not_set, never) == ["warning"]
    silent = bare.replace("gradient_accumulation_steps = 8\n", "")
    assert said(s155_accumulation_that_is_not_set, silent) == []


def test_accelerate_steps_a_schedule_with_the_optimizer():
    times = "num_training_steps=steps * gradient_accumulation_steps"
    assert said(s160_schedule_in_another_unit, ACCELERATE) == []
    wrong = ACCELERATE.replace("num_training_steps=steps", times)
    assert said(s160_schedule_in_another_unit, wrong) == ["error"]
    own = wrong.replace(", loader, scheduler = acc", ", loader = acc").replace(
        "loader, scheduler)", "loader)"
    )
    assert said(s160_schedule_in_another_unit, own) == []


@pytest.mark.parametrize(
    ("length", "told"),
    [
        ("math.ceil(epochs * (len(loader) * epochs // 4))", ["error"]),
        ("len(loader) * epochs * epochs", ["error"]),
        ("len(loader) * epochs // 4", []),
    ],
)
def test_epochs_are_counted_once(length, told):
    text = (
        "import math\nfrom transformers import get_scheduler\nepochs = ask()\n"
        f"schedule = get_scheduler('cosine', optimizer, num_warmup_steps=9, num_training_steps={length})\n"
        "for x in loader:\n    model(x).loss.backward()\n    optimizer.step()\n    schedule.step()\n"
    )
    assert said(s160_schedule_in_another_unit, text) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("optimizer.zero_grad()\n" + ACCUMULATED + STEP.format(""), ["error"]),
        (ACCUMULATED + STEP.format(""), []),
        ("if i % 4 == 0:\n    optimizer.zero_grad()\n" + ACCUMULATED + STEP.format(""), []),
    ],
)
def test_gradients_that_are_accumulated_are_not_cleared_between(body, told):
    assert said(s137_gradients_never_cleared, loop(body)) == told


INNER = (
    HEAD
    + "for step in range(100):\n    for micro in range(accumulation_steps):\n        x, y = next(batches)\n"
    "        loss = {loss}\n        loss.backward()\n    {clip}optimizer.step()\n    optimizer.zero_grad()\n"
)


@for_each(
    ("loss", "clip", "told"),
    [
        ("model(x, y)", CLIP + "    ", ["warning"]),
        ("model(x, y).loss", "", ["note"]),
        ("model(x, y) / accumulation_steps", CLIP + "    ", []),
        ("F.cross_entropy(model(x), y, reduction='sum') / tokens", CLIP + "    ", []),
        ("compute(model, x, y)", CLIP + "    ", []),
    ],
)
def test_an_inner_loop_over_micro_batches_divides_too(loss, clip, told):
    assert said(s143_accumulated_loss_not_divided, INNER.format(loss=loss, clip=clip)) == told


@for_each(
    ("test", "told"),
    [
        ("n in no_decay", ["warning"]),
        ("n not in no_decay", ["warning"]),
        ("any(part in n for part in no_decay)", []),
        ("not any(part in n for part in no_decay)", []),
    ],
)
def test_names_of_weights_are_compared_by_part(test, told):
    groups = f"[{{'params': [p for n, p in model.named_parameters() if {test}], 'weight_decay': 0.01}}]"
    text = HEAD + f"no_decay = ['bias', 'gamma', 'beta']\noptimizer = torch.optim.AdamW({groups}, lr=1e-4)\n"
    assert said(s144_decay_on_norms_and_biases, text) == told


def test_groups_that_are_added_have_the_default_decay():
    text = HEAD + (
        "optimizer = torch.optim.AdamW(biases, lr=1e-4{})\n"
        "optimizer.add_param_group({{'params': matrices, 'weight_decay': 0.1}})\n"
    )
    assert said(s144_decay_on_norms_and_biases, text.format("")) == ["note"]
    assert said(s144_decay_on_norms_and_biases, text.format(", weight_decay=0.0")) == []


def test_a_function_that_only_evaluates_needs_no_loop():
    text = HEAD + (
        "def train():\n    model.train()\n    F.cross_entropy(model(data.x), data.y).backward()\n    optimizer.step()\n"
        "{}def test():\n    model.eval()\n    return model(data.x).argmax(-1)\n"
        "for epoch in range(9):\n    train()\n    print(test())\n"
    )
    assert said(e112_evaluation_with_gradients, text.format("")) == ["note"]
    assert said(e112_evaluation_with_gradients, text.format("@torch.no_grad()\n")) == []


def test_a_model_from_transformers_is_switched_to_training():
    rule = e113_trained_in_evaluation_mode
    assert of_example(rule) == ["warning"]
    assert of_example(rule, ('AutoModelForCausalLM.from_pretrained("gpt2")', "Net()")) == []
    assert of_example(rule, ("for batch", "model.train(True)\nfor batch")) == []
    assert of_example(rule, ("for batch", "from engine import prepare\nprepare(model)\nfor batch")) == []


def test_an_evaluation_switches_the_model_over():
    rule = e114_evaluated_in_training_mode
    assert of_example(rule) == ["warning"]
    assert of_example(rule, ("for x, y in val_loader", "for x, y in pool")) == []
    assert of_example(rule, ("    model.train()\n", "")) == []
    assert of_example(rule, ("with torch.no_grad()", "model.train(False)\n    with torch.no_grad()")) == []


@for_each(
    ("lines", "told"),
    [
        ("labels[~masked] = -1", ["warning"]),
        ("labels[labels == pad] = 0", ["warning"]),
        ("labels[~masked] = -100", []),
        ("labels[:4] = -1", []),
    ],
)
def test_models_of_transformers_leave_out_minus_100(lines, told):
    text = (
        "import torch\nfrom transformers import AutoModelForMaskedLM\n"
        "model = AutoModelForMaskedLM.from_pretrained('bert-base-uncased')\nfor inputs in loader:\n"
        f"    labels = inputs.clone()\n    {lines}\n    model(inputs, labels=labels).loss.backward()\n"
    )
    assert said(l115_ignore_index_of_another_value, text) == told


def test_a_softmax_in_one_branch_is_one_too_many():
    text = HEAD + (
        "for x, y in loader:\n    logits = model(x)\n    if narrow:\n        logits = logits{}\n"
        "    nn.CrossEntropyLoss()(logits, y).backward()\n    optimizer.step()\n"
    )
    assert said(l116_softmax_before_cross_entropy, text.format(".softmax(dim=-1)")) == ["error"]
    assert said(l116_softmax_before_cross_entropy, text.format("[:, :2]")) == []


@pytest.mark.parametrize(
    ("given", "told"), [("", ["error"]), ("enabled=amp", ["error"]), ("enabled=False", [])]
)
def test_a_scaler_that_a_variable_switches_scales(given, told):
    text = (
        HEAD
        + f"scaler = torch.cuda.amp.GradScaler({given})\n"
        + (
            "for x, y in loader:\n    scaler.scale(F.cross_entropy(model(x), y)).backward()\n    "
            + CLIP
            + "    scaler.step(optimizer)\n    scaler.update()\n    optimizer.zero_grad()\n"
        )
    )
    assert said(p304_clipping_of_scaled_gradients, text) == told


def test_a_sampler_and_shuffle_do_not_go_together():
    rule = d122_shuffle_beside_sampler
    assert of_example(rule) == ["error"]
    assert of_example(
        rule, ("DistributedSampler(data)", "DistributedSampler(data) if ranks > 1 else None")
    ) == ["error"]
    assert of_example(rule, ("shuffle=True", "shuffle=False")) == []
    assert of_example(rule, ("sampler = DistributedSampler(data)", "sampler = None")) == []


def test_a_trainer_with_a_loss_of_its_own_says_how_it_is_divided():
    rule = s156_own_loss_not_divided
    assert of_example(rule) == ["note"]
    assert of_example(rule, versions="transformers=4.45") == []
    assert of_example(rule, ("(Trainer)", "(Base)")) == []
    divided = "class WeightedTrainer(Trainer):\n    loss_is_scaled_for_ga = False"
    assert of_example(rule, ("class WeightedTrainer(Trainer):", divided)) == []
    args = 'TrainingArguments("out", gradient_accumulation_steps=8)'
    trainer = f"WeightedTrainer(model=model, args={args}, train_dataset=data)\n"
    found = findings(
        rule, "train.py", rule.RULE.bad.text.replace("Trainer\n", "Trainer, TrainingArguments\n", 1) + trainer
    )
    assert [each.finding.severity for each in found] == ["warning"]
