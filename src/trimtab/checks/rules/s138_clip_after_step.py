"""S138 clip-after-step"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.loops import CLEARS, Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_BEGIN = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n"
    "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(model(x), y).backward()\n"
)
_CLIP = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
_STEP = "    optimizer.step()\n"

RULE = Rule(
    code="S138",
    name="clip-after-step",
    severity="error",
    message="gradients are clipped {when}: the clipping has no effect",
    why="`clip_grad_norm_` changes the gradients, and the optimizer reads them in `step()`. After the step the "
    "clipped gradients are cleared unused, so the run has no clipping although the script says so. Between "
    "`zero_grad()` and `backward()` there is nothing to clip yet.",
    evidence=(
        Arithmetic(
            "A gradient norm of 100 with a threshold of 1.0: the step uses 100, and 1.0 is what is then cleared."
        ),
    ),
    fix=Fix("move the clipping between `backward()` and `step()`"),
    bad=Example("train.py", _BEGIN + _STEP + _CLIP),
    good=Example("train.py", _BEGIN + _CLIP + _STEP),
    symptoms=(
        "diverged",
        "loss spikes",
        "grad norm is high",
        "clip_grad_norm_ has no effect",
        "gradient clipping does nothing",
    ),
)
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where one turn of a loop goes backward, step, clip and clips nowhere else: the step in no "
    "branch of its own."""
    flow = flow_of(run.document)
    for loop in training_loops(flow):
        clips = list(loop.called(*_CLIPS))
        if clips and all(_is_late(clip, loop) for clip in clips):
            yield RULE.at(clips[0].place, when="after the optimizer has stepped")
        elif clips and all(_is_early(clip, loop) for clip in clips):
            yield RULE.at(clips[0].place, when="before `backward()` has made them")


def _is_early(clip: Event, loop: Loop) -> bool:
    """Whether a turn clears, clips, goes backward and steps, in one straight line."""
    path = [block for block in loop.backward.path if block.kind != "with"]
    line = [clip, *loop.called(*CLEARS), *loop.steps()]
    if not any(True for _ in loop.called(*CLEARS)) or not any(True for _ in loop.steps()):
        return False
    if any([block for block in each.path if block.kind != "with"] != path for each in line):
        return False
    clears = any(each.index < clip.index for each in loop.called(*CLEARS))
    return clears and clip.index < loop.backward.index < min(each.index for each in loop.steps())


def _is_late(clip: Event, loop: Loop) -> bool:
    steps = [step for step in loop.steps() if _is_before(step, clip) or step.path == clip.path]
    before = [step for step in steps if step.index < clip.index]
    after = [step for step in loop.steps() if step.index > clip.index]
    backwards = list(loop.called("backward", "manual_backward"))
    if not before or after:
        return False
    # A new backward pass between the step and the clipping begins the next accumulation.
    return not any(before[-1].index < each.index < clip.index for each in backwards) and any(
        each.index < before[-1].index for each in backwards
    )


def _is_before(step: Event, clip: Event) -> bool:
    """Whether the clipping comes whenever the step did: each branch that holds the step holds the clipping too."""
    branches = [block for block in step.path if block.kind != "with"]
    return all(clip.within(block) for block in branches)
