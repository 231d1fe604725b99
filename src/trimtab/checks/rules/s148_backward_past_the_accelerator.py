"""S148 backward-past-the-accelerator"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator, takes_loss
from trimtab.checks.read.flow.loops import stepped, training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_optimizer
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_SCRIPT = (
    "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator({how})\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\nfor batch in loader:\n"
    "    loss = model(**batch).loss\n    {backward}\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S148",
    name="backward-past-the-accelerator",
    severity="error",
    message="`loss.backward()` bypasses {whom}: {effect}",
    why="`accelerator.backward(loss)` divides by the accumulation and multiplies by the scale of fp16. The prepared "
    "optimizer expects both: under fp16 its step divides gradients by a scale, 65,536 at first, with which they were "
    "never multiplied.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py",
            "`backward`: 'Scales the gradients in accordance to the `GradientAccumulationPlugin` and calls the correct "
            "`backward()` based on the configuration. Should be used in lieu of `loss.backward()`.'",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/9705",
            "Of DeepSpeed: 'backward needs to be called on the deepspeed object'.",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.5/src/lightning/fabric/wrappers.py",
            "'The current strategy and precision selection requires you to call `fabric.backward(loss)` instead of "
            "`loss.backward()`.'",
        ),
        Arithmetic("A gradient of 1.0, unscaled by 65,536 without having been scaled: 1.5e-5."),
    ),
    fix=Fix("call {fix}"),
    bad=Example("train.py", _SCRIPT.format(how='mixed_precision="fp16"', backward="loss.backward()")),
    good=Example(
        "train.py", _SCRIPT.format(how='mixed_precision="fp16"', backward="accelerator.backward(loss)")
    ),
    symptoms=(
        "model learns nothing",
        "loss flat",
        "loss grows with gradient accumulation",
        "No inf checks were recorded",
        "accelerator with fp16 does not learn",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop over a prepared optimizer whose every backward pass is the loss's own, where the Accelerator has something
    to do in it."""
    yield from _of_engines(flow_of(run.document))
    made = accelerators(run.document)
    if len(made) != 1:
        return
    (effect, severity), flow = _effect(made[0]), flow_of(run.document)
    if not effect or not _prepares_optimizer(flow):
        return
    if any(is_accelerator(event.subject) for event in flow.named("backward")):
        return
    for loop in training_loops(flow):
        if next(loop.steps(), None) is not None and not loop.backward.value.args:
            yield RULE.at(
                loop.backward.place,
                severity=severity,
                whom="the Accelerator",
                effect=effect,
                fix="`accelerator.backward(loss)`",
            )
            return


def _of_engines(flow: Flow) -> Iterator[Diagnosis]:
    """Loops that take loss and step from DeepSpeed's engine or Fabric, and call neither for the backward pass."""
    engines = [event for event in flow.named("initialize") if event.value.name == "deepspeed.initialize"]
    fabrics = [event.value for event in flow.named("Fabric") if "lightning" in event.value.name]
    whole = [fabric for fabric in fabrics if not fabric.has_rest]
    loops = [loop for loop in training_loops(flow) if not loop.backward.value.args]
    steps = [(loop, step) for loop in loops for step in loop.steps()]
    if engines and not any(event.value.args for event in flow.named("backward")):
        for loop, step in steps:
            if any(each is engines[0].value for each in walk(stepped(step), most=6)):
                effect = "the optimizer steps without the engine, which sums, scales and clips gradients"
                fix = "`engine.backward(loss)` and `engine.step()`"
                yield RULE.at(loop.backward.place, whom="DeepSpeed's engine", effect=effect, fix=fix)
                return
    if len(whole) == 1 and any(
        takes_loss(event.subject) for event in flow.named("setup", "setup_optimizers")
    ):
        precision = whole[0].keywords.get("precision")
        known = precision.constant if precision is not None else "32-true"
        is_scaled = known in ("16-mixed", "16", 16)
        if (is_scaled or known is UNKNOWN) and not any(takes_loss(e.subject) for e in flow.named("backward")):
            for loop, _ in steps:
                effect = "under `16-mixed` the loss is not scaled, and Fabric raises RuntimeError"
                severity: Severity | None = None if is_scaled else "warning"
                fix = "`fabric.backward(loss)`"
                yield RULE.at(loop.backward.place, severity=severity, whom="Fabric", effect=effect, fix=fix)
                return


def _effect(accelerator: Value) -> tuple[str, Severity | None]:
    precision = accelerator.keywords.get("mixed_precision")
    if precision is not None and precision.constant == "fp16":
        return "the loss is not scaled, and the step divides its gradients by the scale", None
    size = accelerator.keywords.get("gradient_accumulation_steps")
    if size is not None and type(size.constant) is int and size.constant > 1:
        return f"the loss is not divided by the accumulation of {size.constant}", None
    if size is not None and size.constant is UNKNOWN:
        return "the loss is not divided by the accumulation", None
    if precision is None or precision.constant is UNKNOWN:
        where = "where the options or `accelerate launch` choose fp16, accumulation or DeepSpeed"
        return f"the loss is neither scaled nor divided {where}", "warning"
    return "", None


def _prepares_optimizer(flow: Flow) -> bool:
    return any(
        is_accelerator(event.subject) and any(is_optimizer(each) for each in event.value.args)
        for event in flow.named("prepare", "prepare_optimizer")
    )
