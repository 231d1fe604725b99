"""P309 tensor-made-on-the-host"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfor step in range(100):\n    mask = torch.zeros(1024, 1024{device}){move}\n    use(mask)\n"
)

RULE = Rule(
    code="P309",
    name="tensor-made-on-the-host",
    severity="note",
    message="`torch.{maker}` makes a tensor on the host in every turn, and `.{move}` copies it to the device",
    why="The copy waits for the transfer, and the host has to fill the tensor first. Made on the device, it costs one "
    "short kernel, which is queued like any other.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "'Create tensors directly on the target device' instead of `torch.rand(size).cuda()`.",
        ),
        Arithmetic(
            "A million floats take about 0.3 ms over a bus of 12 GB/s; a kernel that fills them takes about 5 us."
        ),
    ),
    fix=Fix("give `device=` to `torch.{maker}` and leave the copy out; random numbers are others then"),
    bad=Example("train.py", _SCRIPT.format(device="", move='.to("cuda")')),
    good=Example("train.py", _SCRIPT.format(device=', device="cuda"', move="")),
    tips=("S2-21",),
    symptoms=("GPU utilisation is low", "training is slow"),
)
_MAKERS = (
    "zeros",
    "ones",
    "full",
    "empty",
    "randn",
    "rand",
    "randint",
    "arange",
    "eye",
    "linspace",
    "randperm",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """In a loop, of the makers that fill a tensor by a rule; a seed of its own generator keeps it on the host."""
    flow = flow_of(run.document)
    for event in flow.named("to", "cuda"):
        made = event.value.of
        if made is None or made.made != "call" or made.of is not None or innermost_loop(event) is None:
            continue
        is_maker = made.last in _MAKERS and made.name == f"torch.{made.last}"
        if not is_maker or {"device", "generator", "pin_memory"} & made.keywords.keys() or made.has_rest:
            continue
        to = event.value.argument(0, "device")
        if event.name == "cuda" or (to is not None and _may_be_gpu(to.constant, to.name, to.label)):
            yield RULE.at(made.place or event.place, maker=made.last, move=event.name)
            return


def _may_be_gpu(constant: object, name: str, label: str) -> bool:
    if isinstance(constant, str):
        return constant.startswith("cuda")
    return "device" in (label or name) or (name or label).endswith("rank")
