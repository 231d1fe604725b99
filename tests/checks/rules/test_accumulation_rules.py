"""Accumulation by hand: where it synchronises, clears, clips and divides, and twins that are right."""

from tests.checks.rules.findings import of_example, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    s137_gradients_never_cleared,
    s147_loss_divided_twice,
    s157_accumulation_inverted,
    s158_clip_of_some_parameters,
)

HEAD = """\
import contextlib
import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
"""
DDP = HEAD + "model = DDP(net)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"


def said(rule, text):
    return severities(rule, "train.py", text)


def accumulated(sync, *, step="(i + 1) % 4 == 0", before=""):
    """A loop with a context around its backward pass."""
    return DDP + (
        f"for i, (x, y) in enumerate(loader):\n{before}    with {sync}:\n"
        f"        (F.cross_entropy(model(x), y) / 4).backward()\n    if {step}:\n        optimizer.step()\n"
        "        optimizer.zero_grad()\n"
    )


@for_each(
    "text",
    [
        accumulated("model.no_sync() if (i + 1) % 4 == 0 else contextlib.nullcontext()"),
        accumulated("contextlib.nullcontext() if (i + 1) % 4 != 0 else model.no_sync()"),
        accumulated(
            "model.no_sync() if not (i + 1) % 4 else contextlib.nullcontext()", step="not (i + 1) % 4"
        ),
        accumulated(
            "context",
            before="    context = model.no_sync() if is_last else contextlib.nullcontext()\n",
            step="is_last",
        ).replace("    context =", "    is_last = (i + 1) % args.accumulation == 0\n    context ="),
        accumulated("fabric.no_backward_sync(model, enabled=(i + 1) % 4 == 0)"),
        accumulated(
            "fabric.no_backward_sync(model, enabled=not accumulates)", step="not accumulates"
        ).replace("    with", "    accumulates = (i + 1) % 4 != 0\n    with"),
        accumulated(
            "contextlib.nullcontext()", before="    model.set_requires_gradient_sync((i + 1) % 4 != 0)\n"
        ),
        DDP
        + "for i, (x, y) in enumerate(loader):\n    loss = F.cross_entropy(model(x), y) / 4\n"
        + "    if (i + 1) % 4 == 0:\n        with model.no_sync():\n            loss.backward()\n"
        + "        optimizer.step()\n        optimizer.zero_grad()\n    else:\n        loss.backward()\n",
        accumulated(
            "fabric.no_backward_sync(model, enabled=is_accumulating)", step="not is_accumulating"
        ).replace("    with", "    is_accumulating = (i + 1) % args.accumulation == 0\n    with"),
    ],
)
def test_gradients_are_synchronised_where_the_optimizer_steps(text):
    assert said(s157_accumulation_inverted, text) == ["error"]


@for_each(
    "text",
    [
        accumulated("contextlib.nullcontext() if (i + 1) % 4 == 0 else model.no_sync()"),
        accumulated("model.no_sync() if (i + 1) % 4 != 0 else contextlib.nullcontext()"),
        accumulated("model.no_sync() if (i + 1) % 4 else contextlib.nullcontext()"),
        accumulated("fabric.no_backward_sync(model, enabled=(i + 1) % 4 != 0)"),
        accumulated("fabric.no_backward_sync(model, enabled=is_accumulating)"),
        accumulated("model.no_sync() if i % 100 == 0 else contextlib.nullcontext()"),
        accumulated("contextlib.nullcontext()", step="i % 5 != 0"),
        accumulated(
            "contextlib.nullcontext()", before="    model.set_requires_gradient_sync((i + 1) % 4 == 0)\n"
        ),
        accumulated(
            "contextlib.nullcontext() if (i + 1) % 4 == 0 or i + 1 == len(loader) else model.no_sync()"
        ),
    ],
)
def test_what_is_synchronised_at_the_right_time_is_left_alone(text):
    assert said(s157_accumulation_inverted, text) == []


TWO = (
    HEAD
    + "encoder, decoder = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)\n"
    + "optimizer = torch.optim.Adam({given}, lr=1e-3)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    + "    F.cross_entropy(decoder(encoder(x)), y).backward()\n{clips}    optimizer.step()\n"
)
BOTH = "list(encoder.parameters()) + list(decoder.parameters())"


def clipped(*what, given=BOTH):
    calls = "".join(f"    torch.nn.utils.clip_grad_norm_({each}, 1.0)\n" for each in what)
    return TWO.format(given=given, clips=calls)


@for_each(
    "text",
    [
        clipped("encoder.parameters()"),
        clipped("decoder.parameters()", given="[*encoder.parameters(), *decoder.parameters()]"),
        clipped(
            "encoder.parameters()",
            given="[{'params': encoder.parameters()}, {'params': decoder.parameters()}]",
        ),
        clipped(
            "list(decoder.parameters())", given="itertools.chain(encoder.parameters(), decoder.parameters())"
        ),
        clipped("encoder.parameters()").replace("clip_grad_norm_", "clip_grad_value_"),
    ],
)
def test_a_part_of_the_parameters_is_clipped(text):
    assert said(s158_clip_of_some_parameters, text) == ["warning"]


@for_each(
    "text",
    [
        clipped(BOTH),
        clipped("encoder.parameters()", "decoder.parameters()"),
        clipped("itertools.chain(encoder.parameters(), decoder.parameters())"),
        clipped("encoder.parameters()", given="encoder.parameters()"),
        clipped("trained", given=BOTH),
        clipped("model.parameters()"),
        clipped("encoder.parameters()", given="groups"),
    ],
)
def test_all_or_unknown_parameters_are_left_alone(text):
    assert said(s158_clip_of_some_parameters, text) == []


PLAIN = HEAD + "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
TURN = PLAIN + "for i, (x, y) in enumerate(loader):\n    loss = F.cross_entropy(model(x), y)\n"


@for_each(
    "body",
    [
        "    loss.backward()\n    model.zero_grad()\n    optimizer.step()\n",
        "    scaler.scale(loss).backward()\n    optimizer.zero_grad()\n    scaler.step(optimizer)\n"
        "    scaler.update()\n",
        "    loss.backward()\n    if (i + 1) % 4 == 0:\n        optimizer.zero_grad()\n        optimizer.step()\n",
        "    loss.backward()\n    optimizer.zero_grad(set_to_none=True)\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n",
        "    with torch.autocast('cuda'):\n        loss = loss * 2\n    loss.backward()\n    optimizer.zero_grad()\n"
        "    print(loss.item())\n    optimizer.step()\n",
    ],
)
def test_gradients_that_are_cleared_before_their_step_are_lost(body):
    assert said(s137_gradients_never_cleared, TURN + body) == ["error"]


@for_each(
    "body",
    [
        "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
        "    loss.backward()\n    optimizer.step()\n    model.zero_grad()\n",
        "    loss.backward()\n    optimizer.zero_grad()\n    penalty(model).backward()\n    optimizer.step()\n",
        "    loss.backward()\n    optimizer.zero_grad()\n    attack(model, x)\n    optimizer.step()\n",
        "    loss.backward()\n    other.zero_grad()\n    optimizer.step()\n    optimizer.zero_grad()\n",
        "    loss.backward()\n    if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n",
    ],
)
def test_gradients_that_are_cleared_in_time_are_left_alone(body):
    assert said(s137_gradients_never_cleared, TURN + body) == []


DIVIDED = (
    PLAIN
    + "ACCUMULATION = 4\ndef compute_loss(x, y):\n    return F.cross_entropy(model(x), y){inside}\n"
    + "for i, (x, y) in enumerate(loader):\n    loss = compute_loss(x, y){outside}\n    {backward}\n"
    + "    if (i + 1) % ACCUMULATION == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"
)


def divided(inside="", outside="", backward="loss.backward()"):
    return DIVIDED.format(inside=inside, outside=outside, backward=backward)


@for_each(
    ("text", "told"),
    [
        (divided(" / ACCUMULATION", " / ACCUMULATION"), ["warning"]),
        (divided(" / ACCUMULATION", backward="(loss / ACCUMULATION).backward()"), ["warning"]),
        (divided(" / 4", " / 4"), ["warning"]),
        (divided("", " / 4", "(loss / 4).backward()"), ["warning"]),
        (divided(" / ACCUMULATION", backward="scaler.scale(loss / ACCUMULATION).backward()"), ["warning"]),
        (divided(" / ACCUMULATION"), []),
        (divided("", " / ACCUMULATION"), []),
        (divided(" / 2", " / ACCUMULATION"), []),
        (divided(" / len(x)", " / ACCUMULATION"), []),
    ],
)
def test_a_loss_is_divided_once_in_the_loop_or_in_its_function(text, told):
    assert said(s147_loss_divided_twice, text) == told


def test_a_period_of_one_is_no_accumulation():
    assert of_example(s157_accumulation_inverted, ("% 8", "% 1"), ("/ 8", "/ 1")) == []
