"""M125 misspelled-requires-grad"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torchvision\nmodel = torchvision.models.resnet18(weights='DEFAULT')\n"
    "for parameter in model.parameters():\n    parameter.{name} = False\nmodel.fc = torch.nn.Linear(512, 10)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M125",
    name="misspelled-requires-grad",
    severity="error",
    message="`{name}` is not an attribute of torch parameters: nothing is frozen",
    why="Python lets a script set any name on a parameter. Only `requires_grad` is read by autograd; with another "
    "name the weights are still trained and still take optimizer memory.",
    evidence=(Arithmetic("`p.require_grad = False` leaves `p.requires_grad` True."),),
    fix=Fix("write `requires_grad`"),
    bad=Example("train.py", _SCRIPT.replace("{name}", "require_grad")),
    good=Example("train.py", _SCRIPT.replace("{name}", "requires_grad")),
    tips=("S2-30",),
    symptoms=(
        "frozen layers are trained",
        "freezing does not save memory",
        "frozen layers are still trained",
        "require_grad has no effect",
    ),
)
_NAMES: Final = (
    "require_grad", "requires_grads", "require_grads", "required_grad", "requiers_grad", "requires_gradient",
    "requires_gradients", "requries_grad", "require_gradient", "requiresgrad", "requires_Grad", "trainable",
)  # fmt: skip


def check(run: Description) -> Iterator[Diagnosis]:
    """A name like `requires_grad`, set to a truth; of Keras's `trainable` on a parameter of torch."""
    for event in flow_of(run.document).sets(*_NAMES):
        if not isinstance(event.value.constant, bool):
            continue
        if event.name != "trainable" or _is_parameter(event.subject):
            yield RULE.at(event.place, name=event.name)
            return


def _is_parameter(value: Value | None) -> bool:
    return any(each.name in ("parameters", "named_parameters") for each in walk(value, most=12))
