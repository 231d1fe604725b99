"""S154 clip-of-partial-gradients"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor i, (x, y) in enumerate(loader):\n"
    "    (torch.nn.functional.cross_entropy(model(x), y) / 8).backward()\n{early}"
    "    if (i + 1) % 8 == 0:\n{late}        optimizer.step()\n        optimizer.zero_grad()\n"
)
_CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"

RULE = Rule(
    code="S154",
    name="clip-of-partial-gradients",
    severity="warning",
    message="gradients are clipped after every micro-batch, and the optimizer steps only when several are accumulated",
    why="Clipping changes the sum so far. The first micro-batches are scaled down again and again, the last "
    "ones are not, "
    "and the norm that is compared with the threshold is that of an unfinished gradient: the step depends on the order "
    "of the micro-batches and is not that of the large batch.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/diffusers/pull/686",
            "The script of DreamBooth clipped in every micro-batch; mended by `if accelerator.sync_gradients`.",
        ),
        Arithmetic(
            "Threshold 1, two gradients of 2 the same way: after the first 1, after the second 1 again, of which the "
            "first gives 1/3 and the second 2/3."
        ),
    ),
    fix=Fix(
        "clip once a step, directly before `optimizer.step()`; with Accelerate under `if accelerator.sync_gradients`"
    ),
    bad=Example("train.py", _SCRIPT.format(early="    " + _CLIP, late="")),
    good=Example("train.py", _SCRIPT.format(early="", late="        " + _CLIP)),
    symptoms=(
        "every step is clipped",
        "gradient accumulation gives another loss",
        "loss grows with gradient accumulation",
    ),
)
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop whose steps come every so many turns and whose clipping comes in each, by a branch or by Accelerate's
    `accumulate`."""
    flow = flow_of(run.document)
    is_one = any(
        _is_one(made.keywords.get("gradient_accumulation_steps")) for made in accelerators(run.document)
    )
    for loop in training_loops(flow):
        for clip in loop.called(*_CLIPS):
            if loop.is_within_period(clip):
                continue
            if _is_by_branch(loop, clip) or (
                not is_one and _is_accumulated(clip) and not _is_late(loop, clip)
            ):
                yield RULE.at(clip.place)
                return


def _is_one(size: object) -> bool:
    return size is None or getattr(size, "constant", None) == 1


def _is_by_branch(loop: Loop, clip: Event) -> bool:
    steps = list(loop.steps())
    return (
        bool(steps)
        and all(loop.is_within_period(step) for step in steps)
        and not loop.is_within_period(loop.backward)
        and clip.index > loop.backward.index
    )


def _is_accumulated(clip: Event) -> bool:
    """Whether it is under `with accelerator.accumulate(model)`."""
    return any(each.last == "accumulate" for block in clip.path for each in block.contexts)


def _is_late(loop: Loop, clip: Event) -> bool:
    """Behind the step it is S138's."""
    return all(step.index < clip.index for step in loop.steps())
