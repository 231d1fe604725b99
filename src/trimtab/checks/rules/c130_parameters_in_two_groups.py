"""C130 parameters-in-two-groups"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import OPTIMIZERS
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torchvision.models import resnet18\nmodel = resnet18()\noptimizer = torch.optim.SGD([\n"
    "    {{'params': {rest}, 'lr': 1e-3}},\n    {{'params': model.fc.parameters(), 'lr': 1e-2}},\n], lr=1e-3)\n"
)

RULE = Rule(
    code="C130",
    name="parameters-in-two-groups",
    severity="error",
    message="parameters of `{inner}` are in two groups: `{outer}.parameters()` has them too, and the optimizer "
    "raises ValueError",
    why="An optimizer accepts each parameter once. A model's `parameters()` includes those of all its submodules.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/optimizer.py",
            "`add_param_group`: 'some parameters appear in more than one parameter group'.",
        ),
    ),
    fix=Fix("leave the parameters of `{inner}` out of the other group"),
    bad=Example("train.py", _SCRIPT.format(rest="model.parameters()")),
    good=Example("train.py", _SCRIPT.format(rest="model.layer4.parameters()")),
    symptoms=("some parameters appear in more than one parameter group",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Groups that are written out, of which one has all parameters of a model, and another those of a part of it."""
    for event in flow_of(run.document).named(*OPTIMIZERS):
        if event.value.of is not None:
            continue
        given = event.value.argument(0, "params")
        if given is None or given.made != "list":
            continue
        owners = [owner for group in given.args if (owner := _owner(group)) is not None]
        for at, inner in enumerate(owners):
            outer = next(
                (each for other, each in enumerate(owners) if other != at and _holds(each, inner)), None
            )
            if outer is not None:
                yield RULE.at(
                    event.place,
                    outer=outer.label or outer.name or "model",
                    inner=inner.label or inner.name or "the part",
                )
                return


def _owner(group: Value) -> Value | None:
    """Whose parameters a group has, where it has all of them."""
    given = group.keywords.get("params") if group.made == "dict" and not group.args else None
    is_whole = given is not None and given.made == "call" and given.name == "parameters" and not given.args
    return given.of if given is not None and is_whole else None


def _holds(outer: Value, inner: Value) -> bool:
    """Whether one is the other, or a part of it by its attributes."""
    if outer is inner:
        return True
    if inner.made in ("attribute", "item"):
        return inner.of is not None and _holds(outer, inner.of)
    return outer.made == "object" and any(each is inner for each in outer.fields.values())
