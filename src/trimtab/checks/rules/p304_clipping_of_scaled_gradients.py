"""P304 clipping-of-scaled-gradients"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Entry
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.read.flow.loops import Loop, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_scaler, options
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scaler = torch.amp.GradScaler()\nfor batch in loader:\n"
    '    with torch.autocast("cuda", dtype=torch.float16):\n        loss = model(batch).loss\n'
    "    scaler.scale(loss).backward()\n"
    "{unscale}    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n"
    "    scaler.update()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="P304",
    name="clipping-of-scaled-gradients",
    severity="error",
    message="gradients are clipped while they are still multiplied by the loss scale",
    why="The scale starts at 65,536 and moves. A threshold of 1.0 on scaled gradients is one of 0.000015 on "
    "the real ones: every step is cut to almost the same tiny size, and how tiny changes whenever the scale "
    "does.",
    evidence=(
        Maintainer(
            "https://pytorch.org/docs/1.8.0/_sources/notes/amp_examples.rst.txt",
            "'Automatic Mixed Precision examples': gradients are to be unscaled before they are looked at or "
            "clipped.",
        ),
        Maintainer(
            "https://github.com/milesial/Pytorch-UNet/pull/470",
            "The same bug found and fixed: 'Gradients should be unscaled before clipping them'.",
        ),
        Arithmetic("1.0 / 65,536 = 1.5e-5."),
    ),
    fix=Fix("call `scaler.unscale_(optimizer)` before `clip_grad_norm_`"),
    bad=Example("train.py", _SCRIPT.format(unscale="")),
    good=Example("train.py", _SCRIPT.format(unscale="    scaler.unscale_(optimizer)\n")),
    tips=("S0-23", "S3-07"),
    symptoms=(
        "unscale_ is missing before clipping with a GradScaler",
        "loss falls slowly",
        "every step is clipped",
        "loss flat",
        "gradient norm is huge with GradScaler",
        "clipping before unscale_",
    ),
)
_HANDLED = frozenset({"accelerate", "lightning", "pytorch_lightning", "deepspeed", "apex"})
"""Libraries that scale and clip by themselves."""
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where one script makes the scaler, scales, clips and steps, and never unscales; and where a loop does so
    with a scaler that it is given, whatever other loops do."""
    names = {call.name for call in run.document.calls}
    # A scaler that is switched off scales by 1; one that a variable switches scales when it is on.
    if any(call.has_rest or _is_off(call.arguments.get("enabled")) for call in calls_of(run, "GradScaler")):
        return
    if (
        {"GradScaler", "scale", "step"} <= names
        and "unscale_" not in names
        and not run.document.imports & _HANDLED
    ):
        for call in calls_of(run, "clip_grad_norm_", "clip_grad_value_"):
            yield RULE.at(call.place)
            return
    flow, is_handled = flow_of(run.document), bool(run.document.imports & _HANDLED)
    clip = next(
        (
            found
            for loop in training_loops(flow)
            if (found := _clipped_in(loop, is_handled=is_handled)) is not None
        ),
        None,
    )
    if flow.is_whole and clip is not None:
        yield RULE.at(clip.place)


def _clipped_in(loop: Loop, *, is_handled: bool) -> Event | None:
    """What clips between `scaler.scale(loss).backward()` and `scaler.step` of the same loop, where nothing unscales
    or may do so out of sight."""
    scaled = loop.backward.subject
    if scaled is None or scaled.made != "call" or scaled.name != "scale" or not is_scaler(scaled.of):
        return None
    is_torchs = all(each.name.startswith("torch.") for each in options(scaled.of))
    if not is_torchs and is_handled:
        return None
    steps = [event for event in loop.steps() if is_scaler(event.subject)]
    for clip in loop.called(*_CLIPS):
        if clip.index < loop.backward.index or not any(step.index > clip.index for step in steps):
            continue
        before = [each for each in loop.events if each.kind == "call" and each.index < clip.index]
        if not any(each.name == "unscale_" or _is_handed_on(each, scaled.of) for each in before):
            return clip
    return None


def _is_handed_on(event: Event, scaler: Value | None) -> bool:
    """Whether a function, which may not be followed, is given the scaler."""
    given = (*event.value.args, *event.value.keywords.values())
    return event.name != "step" and any(each is scaler for each in given)


def _is_off(enabled: Entry | None) -> bool:
    return enabled is not None and enabled.value is False and not enabled.is_option
