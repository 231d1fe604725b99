"""S131 offloaded-optimizer-misused"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Call
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S131",
    name="offloaded-optimizer-misused",
    severity="error",
    message="torchao's CPUOffloadOptimizer is used with {what}, which it does not support",
    why="It copies the weights to the host when it is made and moves gradients there during backward. Code "
    "that reads the gradients on the GPU, or changes the weights without it, does not see what is "
    "trained.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/ao/blob/main/torchao/optim/README.md",
            '"not compatible with PyTorch\'s built-in LR scheduler"; "Gradient clipping is currently not supported"; '
            "offload_gradients=True is not compatible with gradient accumulation; the model's weights must be loaded "
            "before "
            "the optimizer is made; do not compile the whole model.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "train.py",
        "import torch\nfrom torchao.optim import CPUOffloadOptimizer\n\n"
        "optimizer = CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, fused=True)\n"
        "for batch in data:\n    model(batch).loss.backward()\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom torchao.optim import CPUOffloadOptimizer\n\n"
        "optimizer = CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, fused=True)\n"
        "for batch in data:\n    model(batch).loss.backward()\n    optimizer.step()\n",
    ),
    aliases=("OFFL001",),
    tips=("S2-05", "S0-27"),
    symptoms=("learning rate does not change", "worse after resume", "clipping has no effect"),
)

_SCHEDULES = frozenset(
    {
        "LambdaLR", "CosineAnnealingLR", "OneCycleLR", "StepLR", "ExponentialLR", "LinearLR", "SequentialLR",
        "get_scheduler", "get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup",
        "get_constant_schedule_with_warmup",
    }
)  # fmt: skip
_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})


def check(run: Description) -> Iterator[Diagnosis]:
    """What follows the optimizer in the same script; with another optimizer in it the rule stays silent."""
    calls = run.document.calls
    mine = [call for call in calls if call.name == "CPUOffloadOptimizer"]
    if len(mine) != 1 or run.document.syntax != "python":
        return
    start = mine[0].place
    behind = [call for call in calls if call.place > start]
    for call in behind:
        fault = _wrong(call)
        if fault is not None:
            yield RULE.at(call.place, what=fault[0], fix=fault[1])
    for call in calls:
        if (call.qualifier, call.name) == ("torch", "compile"):
            yield RULE.at(
                call.place,
                severity="warning",
                what="a model that is compiled whole",
                fix="compile its parts one by one",
            )
    gradients, accumulation = mine[0].arguments.get("offload_gradients"), run.value("accumulation")
    if gradients is not None and gradients.value is True and accumulation is not None and accumulation > 1:
        yield RULE.at(
            gradients.place,
            what=f"offload_gradients and an accumulation of {accumulation}",
            fix="leave offload_gradients off",
        )


def _wrong(call: Call) -> tuple[str, str] | None:
    if call.name in _CLIPS:
        return "gradient clipping", "leave the clipping out, or use an optimizer that stays on the GPU"
    if call.name in _SCHEDULES:
        return "a learning rate schedule", "set `param_group['lr']` by hand in each step"
    if call.name == "load_state_dict" and call.qualifier.rpartition(".")[2] in ("model", "net"):
        return "weights that are loaded after it was made", "load the weights first, then make the optimizer"
    return None
