"""K112 checkpoint-may-run-code"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nmodel = torch.nn.Linear(8, 8)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
    'state = torch.load("checkpoint.pt", weights_only={only})\nmodel.load_state_dict(state["model"])\n'
    'optimizer.load_state_dict(state["optimizer"])\n'
)

RULE = Rule(
    code="K112",
    name="checkpoint-may-run-code",
    severity="note",
    message="`torch.load(weights_only=False)` runs any code in the file, but only its `load_state_dict` is used",
    why="A pickle is a program: opening one runs it. Weights and the state of an optimizer are tensors, numbers and "
    "lists, which `weights_only=True` reads as well, so that nothing is lost by it.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/serialization.py",
            "From 2.6 on `weights_only` is true by default; without it loading 'can result in arbitrary code "
            "execution'.",
        ),
        Arithmetic(
            "`pickle` calls whatever `__reduce__` names while it reads; a state dict needs tensors, numbers, texts, "
            "lists and mappings only."
        ),
    ),
    fix=Fix(
        "leave `weights_only` out (torch 2.6 or newer) or set it to true; safetensors holds no code at all",
        safety="same training",
    ),
    bad=Example("train.py", _SCRIPT.format(only=False)),
    good=Example("train.py", _SCRIPT.format(only=True)),
    symptoms=(
        "checkpoint from an unknown source",
        "UnpicklingError",
        "Weights only load failed",
        "torch.load weights_only default changed",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where all that is done with what was loaded is to give it to `load_state_dict`."""
    flow = flow_of(run.document)
    for event in flow.named("load"):
        only = event.value.keywords.get("weights_only")
        if event.value.name != "torch.load" or only is None or only.constant is not False:
            continue
        given = [each.value.argument(0, "state_dict") for each in flow.named("load_state_dict")]
        if any(each is event.value or (each is not None and each.of is event.value) for each in given):
            yield RULE.at(event.place)
