"""P123 wrapped-before-moved"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.modules import is_module_class
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P123",
    name="wrapped-before-moved",
    severity="error",
    message="`{model}` is still on the host when it is wrapped with `device_ids`: DistributedDataParallel "
    "raises ValueError",
    why="With `device_ids`, the parameters must already be on that device: the wrapper does not move them.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/parallel/distributed.py",
            "'DistributedDataParallel device_ids and output_device arguments only work with "
            "single-device/multiple-device GPU modules or CPU modules, but got device_ids [...] and module "
            "parameters [cpu].'",
        ),
    ),
    fix=Fix("move the model first: `DDP(model.to(rank), device_ids=[rank])`"),
    bad=Example(
        "train.py",
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "torch.distributed.init_process_group('nccl')\nmodel = DDP(torch.nn.Linear(8, 2), device_ids=[rank])\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "torch.distributed.init_process_group('nccl')\n"
        "model = DDP(torch.nn.Linear(8, 2).to(rank), device_ids=[rank])\n",
    ),
    symptoms=(
        "device_ids and output_device arguments only work with single-device/multiple-device GPU modules",
    ),
)
_MOVES = ("to", "cuda", "to_empty", "half", "type")


def check(run: Description) -> Iterator[Diagnosis]:
    """A model that the script makes, and that nothing moves before it is wrapped with devices."""
    flow = flow_of(run.document)
    if not flow.is_whole or says(
        run.document, "set_default_device", "torch.device(", "device_map", "set_default_tensor_type"
    ):
        return
    for event in flow.named("DistributedDataParallel", "DDP"):
        given = event.value.args[0] if event.value.args else None
        devices = event.value.keywords.get("device_ids")
        if (
            event.value.last not in ("DistributedDataParallel", "DDP")
            or given is None
            or devices is None
            or not devices.args
        ):
            continue
        model = root(given)
        if (
            model is None
            or given.made == "either"
            or not _is_made_here(model)
            or any("device" in name for name in model.keywords)
        ):
            continue
        moves = [
            each for each in flow.named(*_MOVES) if each.index < event.index and _holds(each.subject, model)
        ]
        if not moves and not (given.made == "call" and given.name in _MOVES):
            yield RULE.at(event.place, model=model.label or "the model")
            return


def _is_made_here(model: Value) -> bool:
    """An object of a class of the script that moves nothing in its `__init__`, or a module of torch's own."""
    if model.made == "object" and model.of is not None:
        return is_module_class(model.of) and not any(each.name in _MOVES for each in model.fields.values())
    return model.made == "call" and model.name.startswith(("torch.nn.", "torchvision.models."))


def _holds(subject: Value | None, model: Value) -> bool:
    return any(each is model for each in walk(root(subject), most=8))
