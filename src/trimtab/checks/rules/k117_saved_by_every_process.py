"""K117 saved-by-every-process"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.modules import is_wrapper_of_processes
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="K117",
    name="saved-by-every-process",
    severity="warning",
    message="every process writes `{path}`: simultaneous writes may corrupt it",
    why="Under DistributedDataParallel, all processes have the same weights. If all of them write one file "
    "at once, it may be corrupt, and the bandwidth is multiplied by the number of processes.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints",
            "'When using DDP, one optimization is to save the model in only one process and then load it to all "
            "processes, reducing write overhead.'",
        ),
    ),
    fix=Fix("write in one process: `if rank == 0:`"),
    bad=Example(
        "train.py",
        "import torch\nimport torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\ndist.init_process_group('nccl')\n"
        "net = DDP(torch.nn.Linear(8, 2).cuda())\noptimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "for x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "torch.save(net.module.state_dict(), 'last.pt')\n",
    ),
    good=Example(
        "train.py",
        "import torch\nimport torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\ndist.init_process_group('nccl')\n"
        "net = DDP(torch.nn.Linear(8, 2).cuda())\noptimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
        "for x, y in loader:\n    optimizer.zero_grad()\n"
        "    torch.nn.functional.cross_entropy(net(x), y).backward()\n    optimizer.step()\n"
        "if dist.get_rank() == 0:\n    torch.save(net.module.state_dict(), 'last.pt')\n",
    ),
    symptoms=("checkpoint is corrupt", "PytorchStreamReader failed reading zip archive"),
)
_ASKS = (
    "== 0", "!= 0", "not rank", "is_main", "is_master", "main_process", "master_process", "rank_zero", "is_rank", "> 0",
    "primary", "is_global_zero", "is_local", "on_master", "FSDP", "fully_shard", "FullyShardedDataParallel",
    "deepspeed",
    "is_chief", "is_root", "< 1",
)  # fmt: skip
"""Words of a script that asks which process it is."""


def check(run: Description) -> Iterator[Diagnosis]:
    """`torch.save` to a file of one name, in a script that wraps its model for several processes and asks nowhere
    which one it is."""
    if not says(run.document, "init_process_group") or says(run.document, *_ASKS):
        return
    flow = flow_of(run.document)
    if not flow.is_whole or not any(is_wrapper_of_processes(event.value) for event in flow.each("call")):
        return
    for event in flow.named("save"):
        path = event.value.argument(1, "f")
        if event.value.name != "torch.save" or path is None:
            continue
        if any("rank" in (each.label or each.name).lower() for each in walk(path, most=20)):
            continue
        text = path.constant if isinstance(path.constant, str) else path.label or "the same file"
        yield RULE.at(event.place, path=text)
        return
