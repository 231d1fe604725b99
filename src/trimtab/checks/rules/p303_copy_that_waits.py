"""P303 copy-that-waits"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Call
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "loader = DataLoader(data, batch_size=32, num_workers=4{pinned})\n"
    'for batch in loader:\n    batch = batch.to("cuda", non_blocking=True)\n'
    "    model(batch).loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)

RULE = Rule(
    code="P303",
    name="copy-that-waits",
    severity="warning",
    message="`non_blocking=True` copies from memory that is not pinned: the copy still blocks",
    why="Only from page-locked memory can the GPU fetch by itself while the script continues. From other "
    "memory the driver first copies into a buffer of its own, and the call returns when that is done.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide",
            "The tuning guide of PyTorch: `pin_memory=True` 'enables faster and asynchronous memory copy "
            "from the host to the GPU'; it defaults to False.",
        ),
    ),
    fix=Fix("write `DataLoader(..., pin_memory=True)`", safety="same training"),
    bad=Example("train.py", _SCRIPT.format(pinned="")),
    good=Example("train.py", _SCRIPT.format(pinned=", pin_memory=True")),
    aliases=("DATA002",),
    tips=("S2-21", "S2-37"),
    symptoms=("GPU utilisation is low", "training is slow"),
)


_HOLDERS = frozenset(
    {"self", "args", "config", "cfg", "opt", "hparams", "accelerator", "fabric", "params", "c"}
)
"""What has a `device` and is no tensor."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script shows the copy and all its loaders, and pins nothing."""
    loaders = list(calls_of(run, "DataLoader"))
    pins = any(call.has_rest or "pin_memory" in call.arguments for call in loaders)
    if not loaders or pins or any(calls_of(run, "pin_memory", "Accelerator", "prepare", "Fabric")):
        return
    for call in calls_of(run, "to", "cuda"):
        if literal(call, "non_blocking") is True and not _may_go_to_host(run, call):
            yield RULE.at(call.arguments["non_blocking"].place)
            return


def _may_go_to_host(run: Description, call: Call) -> bool:
    """Whether a tensor may be copied from the GPU: to where another tensor is, or to what is called a buffer."""
    for event in flow_of(run.document).named("to"):
        to = event.value.argument(0, "device") if event.place == call.place else None
        if to is not None:
            name = f"{to.label} {to.name} {to.constant}".lower()
            owner = (to.of.label or to.of.name) if to.made == "attribute" and to.of is not None else ""
            is_of_other = to.name == "device" and bool(owner) and owner not in _HOLDERS
            return is_of_other or any(word in name for word in ("cpu", "buffer", "host"))
    return False
