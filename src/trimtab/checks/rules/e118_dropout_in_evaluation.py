"""E118 dropout-in-evaluation"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.modules import is_module_class
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)\n"
    "    def forward(self, x):\n        return self.b(F.dropout(self.a(x), 0.5{training}))\n"
    "optimizer = torch.optim.AdamW(Net().parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="E118",
    name="dropout-in-evaluation",
    severity="warning",
    message="`{call}` without `training=` also applies dropout in evaluation",
    why="The function does not know the mode of the module: its `training` is True unless it is given. `model.eval()` "
    "changes nothing, so predictions are noisy and scores too low.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html",
            "training (bool): apply dropout if is True. Default: True.",
        ),
        Maintainer(
            "https://github.com/karpathy/nanoGPT/pull/240",
            "Attention dropout that does not follow `self.training` stays on in evaluation.",
        ),
    ),
    fix=Fix("pass `training=self.training`, or use `nn.Dropout`"),
    bad=Example("train.py", _SCRIPT.replace("{training}", "")),
    good=Example("train.py", _SCRIPT.replace("{training}", ", training=self.training")),
    symptoms=(
        "predictions differ from call to call",
        "evaluation is not deterministic",
        "validation is worse than training",
        "same input gives different logits at every call",
        "inference is random although eval() is called",
    ),
)
_NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


def check(run: Description) -> Iterator[Diagnosis]:
    """`F.dropout` in a method of a module of the script, without the argument and outside a test of the mode."""
    reported: set[object] = set()
    for event in flow_of(run.document).named(*_NAMES):
        call = event.value
        if not call.name.startswith("torch.nn.functional.") or call.has_rest or event.place in reported:
            continue
        if call.argument(2, "training") is not None or _is_tested(event) or not _is_in_module(event):
            continue
        rate = call.argument(1, "p")
        if rate is None or rate.constant not in (0, 0.0):
            reported.add(event.place)
            yield RULE.at(event.place, call=f"F.{event.name}")


def _is_tested(event: Event) -> bool:
    return any(
        block.kind in ("if", "else") and any("train" in each.name for each in walk(block.value, most=20))
        for block in event.path
    )


def _is_in_module(event: Event) -> bool:
    for block in event.path:
        function = block.value if block.kind == "function" else None
        if function is None:
            continue
        owner = function.of.of if function.made == "bound" and function.of is not None else None
        if owner is None and function.frame is not None:
            owner = function.frame.owner
        if owner is not None and is_module_class(owner):
            return True
    return False
