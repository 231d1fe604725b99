"""E123 monitor-never-logged"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.nearest import nearest
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="E123",
    name="monitor-never-logged",
    severity="error",
    message="`{callback}` monitors `{monitor}`, but the module logs {logged}",
    why="A Lightning callback looks up its metric among the logged ones. If it is missing, the run fails "
    "at the first validation, or Lightning only warns and keeps no best checkpoint.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.5/src/lightning/pytorch/callbacks/"
            "model_checkpoint.py",
            "'`ModelCheckpoint(monitor=...)` could not find the monitored key in the returned metrics': "
            "MisconfigurationException if validation has run, else a warning.",
        ),
    ),
    fix=Fix("monitor a name that is logged, such as `{near}`"),
    bad=Example(
        "train.py",
        "import lightning as L\nimport torch\nclass Lit(L.LightningModule):\n    def __init__(self, net):\n"
        "        super().__init__()\n        self.net = net\n    def training_step(self, batch, i):\n"
        "        return self.net(batch).mean()\n    def validation_step(self, batch, i):\n"
        "        self.log('val_loss', self.net(batch).mean())\n    def configure_optimizers(self):\n"
        "        return torch.optim.Adam(self.parameters(), lr=1e-3)\n"
        "best = L.pytorch.callbacks.ModelCheckpoint(monitor='valid_loss')\n",
    ),
    good=Example(
        "train.py",
        "import lightning as L\nimport torch\nclass Lit(L.LightningModule):\n    def __init__(self, net):\n"
        "        super().__init__()\n        self.net = net\n    def training_step(self, batch, i):\n"
        "        return self.net(batch).mean()\n    def validation_step(self, batch, i):\n"
        "        self.log('val_loss', self.net(batch).mean())\n    def configure_optimizers(self):\n"
        "        return torch.optim.Adam(self.parameters(), lr=1e-3)\n"
        "best = L.pytorch.callbacks.ModelCheckpoint(monitor='val_loss')\n",
    ),
    symptoms=(
        "could not find the monitored key in the returned metrics",
        "Early stopping conditioned on metric which is not available",
    ),
)
_LOADER = re.compile(r"/dataloader_idx_\d+$")
"""What Lightning adds to a name that several validation loaders log."""
_CALLBACKS = ("ModelCheckpoint", "EarlyStopping")


def check(run: Description) -> Iterator[Diagnosis]:
    """A script with one module of Lightning, all of whose logged names are written out. Where the script gives a
    Trainer its callbacks, others are left out."""
    flow = flow_of(run.document)
    modules = [
        each for each in flow.classes.values() if any(base.last == "LightningModule" for base in each.args)
    ]
    if len(modules) != 1 or any(True for _ in flow.named("log_dict", "log_metrics")):
        return
    logged = set[str]()
    for event in flow.named("log"):
        name = event.value.argument(0, "name")
        if name is None or not isinstance(name.constant, str):
            return
        logged.add(name.constant)
    used = [
        {id(part) for part in walk(given)}
        for event in flow.named("Trainer")
        if (given := event.value.keywords.get("callbacks")) is not None and _is_theirs(event.value.name)
    ]
    for event in flow.named(*_CALLBACKS):
        if used and not any(id(event.value) in parts for parts in used):
            continue
        given = event.value.argument(
            1 if event.name == "ModelCheckpoint" else 0, "monitor"
        ) or event.value.argument(99, "monitor")
        monitor = given.constant if given is not None else None
        if (
            not logged
            or not isinstance(monitor, str)
            or event.value.of is not None
            or not _is_theirs(event.value.name)
        ):
            continue
        known = {form for name in logged for form in (name, f"{name}_epoch", f"{name}_step")}
        if _LOADER.sub("", monitor) not in known:
            shown = sorted(logged)[:SHOWN]
            near = nearest(monitor, sorted(logged)) or shown[0]
            yield RULE.at(
                event.place,
                callback=event.name,
                monitor=monitor,
                near=near,
                logged=" and ".join(f"`{name}`" for name in shown)
                + (" alone" if len(logged) <= SHOWN else " and others"),
            )
            return


SHOWN = 3


def _is_theirs(name: str) -> bool:
    return name.startswith(("lightning.", "pytorch_lightning."))
