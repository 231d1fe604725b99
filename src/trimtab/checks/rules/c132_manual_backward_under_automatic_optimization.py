"""C132 manual-backward-under-automatic-optimization"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.lightning import method_around
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C132",
    name="manual-backward-under-automatic-optimization",
    severity="error",
    message="`{name}` calls `manual_backward`, but `automatic_optimization` is not switched off: Lightning "
    "raises MisconfigurationException",
    why="Lightning runs the backward pass and the optimizer step itself unless the module sets "
    "`self.automatic_optimization = False`. Until then, `manual_backward` raises an error.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.5/src/lightning/pytorch/core/module.py",
            "'to use manual_backward, please disable automatic optimization: set model property "
            "`automatic_optimization` as False'.",
        ),
    ),
    fix=Fix(
        "set `self.automatic_optimization = False` in `__init__`, or return the loss and leave the rest to Lightning"
    ),
    bad=Example(
        "train.py",
        "import lightning as L\nimport torch\nclass Lit(L.LightningModule):\n    def __init__(self, net):\n"
        "        super().__init__()\n        self.net = net\n    def training_step(self, batch, i):\n"
        "        loss = self.net(batch).mean()\n        self.manual_backward(loss)\n"
        "        self.optimizers().step()\n    def configure_optimizers(self):\n"
        "        return torch.optim.Adam(self.parameters(), lr=1e-3)\n",
    ),
    good=Example(
        "train.py",
        "import lightning as L\nimport torch\nclass Lit(L.LightningModule):\n    def __init__(self, net):\n"
        "        super().__init__()\n        self.net = net\n        self.automatic_optimization = False\n"
        "    def training_step(self, batch, i):\n        loss = self.net(batch).mean()\n"
        "        self.manual_backward(loss)\n        self.optimizers().step()\n"
        "    def configure_optimizers(self):\n        return torch.optim.Adam(self.parameters(), lr=1e-3)\n",
    ),
    symptoms=(
        "to use manual_backward, please disable automatic optimization",
        "automatic_optimization as False",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A module of Lightning that calls `manual_backward` in `training_step` and never says how it is optimised."""
    if says(run.document, "automatic_optimization"):
        return
    for event in flow_of(run.document).named("manual_backward"):
        owner = event.subject.of if event.subject is not None and event.subject.made == "object" else None
        is_lightnings = owner is not None and any(base.last == "LightningModule" for base in owner.args)
        if owner is not None and is_lightnings and method_around(event, "training_step"):
            yield RULE.at(event.place, name=owner.name)
            return
