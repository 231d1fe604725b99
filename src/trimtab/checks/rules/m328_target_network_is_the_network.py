"""M328 target-network-is-the-network"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import copy\nimport torch\npolicy = torch.nn.Linear(8, 2)\ntarget = {copy}\n"
    "target.load_state_dict(policy.state_dict())\noptimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="M328",
    name="target-network-is-the-network",
    severity="error",
    message="`load_state_dict` gets the state of the very model that it loads into: the two names are one object",
    why="An assignment, and `model.to(device)`, give the same object another name. A target network, a teacher or an "
    "average that is to stay behind moves with every step.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",
            "'This method modifies the module in-place' and returns self.",
        ),
        Arithmetic("After `b = a` a step on the weights of a is one on the weights of b."),
    ),
    fix=Fix("make a second model, or `copy.deepcopy` the first"),
    bad=Example("train.py", _SCRIPT.replace("{copy}", "policy")),
    good=Example("train.py", _SCRIPT.replace("{copy}", "copy.deepcopy(policy)")),
    symptoms=("Q values diverge", "target network is always equal", "EMA weights equal the model"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A state that is loaded into the object it was taken from, in one expression and behind no step."""
    flow = flow_of(run.document)
    for event in flow.named("load_state_dict"):
        given = event.value.args[0] if event.value.args else None
        if given is None or given.made != "call" or given.name != "state_dict" or given.of is None:
            continue
        is_direct = flow.events[event.index - 1].value is given and not given.label
        if is_direct and _is_made(given.of) and event.subject is given.of:
            yield RULE.at(event.place)
            return


def _is_made(value: Value) -> bool:
    """Whether it is one object that the script makes."""
    return len(options(value)) == 1 and value.made in ("object", "call")
