"""S317 scaler-beside-bf16"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.half import HANDLED, is_off
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 2).cuda()\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "scaler = torch.amp.GradScaler('cuda')\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    with torch.autocast('cuda', torch.{dtype}):\n        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
    "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
)

RULE = Rule(
    code="S317",
    name="scaler-beside-bf16",
    severity="note",
    message="the loss is scaled for bf16, which has the range of fp32: the scaler only costs time and may skip steps",
    why="Scaling keeps small gradients above the smallest number of fp16. bf16 has as many bits of exponent as "
    "fp32, so "
    "nothing is lost without it; the scaler still looks for infinities and waits for the GPU at every step.",
    evidence=(Arithmetic("The smallest normal number of fp16 is 2**-14, of bf16 and fp32 2**-126."),),
    fix=Fix("take the scaler out, or make it with `enabled=False`"),
    bad=Example("train.py", _SCRIPT.replace("{dtype}", "bfloat16")),
    good=Example("train.py", _SCRIPT.replace("{dtype}", "float16")),
    symptoms=("GradScaler with bfloat16", "is a GradScaler needed for bf16"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A GradScaler that is on, in a script whose every autocast is written as bf16."""
    if run.document.imports & HANDLED:
        return
    flow = flow_of(run.document)
    scalers = [event for event in flow.named("GradScaler") if event.value.name.startswith("torch.")]
    if len(scalers) != 1 or "enabled" in scalers[0].value.keywords or is_off(scalers[0].value):
        return
    if scalers[0].value.has_rest or not any(True for _ in flow.named("scale")):
        return
    casts = [event.value for event in flow.named("autocast")]
    if casts and all(_is_bf16(each) for each in casts):
        yield RULE.at(scalers[0].place)


def _is_bf16(cast: Value) -> bool:
    given = cast.keywords.get("dtype") or (cast.args[1] if len(cast.args) > 1 else None)
    return given is not None and given.name in ("torch.bfloat16",)
