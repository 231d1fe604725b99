"""D131 cuda-in-a-worker"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Rows(Dataset):\n"
    "    def __init__(self, rows):\n        self.rows = rows\n    def __len__(self):\n        return len(self.rows)\n"
    "    def __getitem__(self, index):\n        return torch.tensor(self.rows[index]){move}\n"
    "loader = DataLoader(Rows(rows), batch_size=8, num_workers=4)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)

RULE = Rule(
    code="D131",
    name="cuda-in-a-worker",
    severity="error",
    message="`__getitem__` moves tensors to the GPU, and runs in {workers} forked workers: the first batch raises "
    "RuntimeError",
    why="CUDA cannot be used in a process that was forked from one that has used it. Started by `spawn` each "
    "worker would "
    "hold a context of its own on the GPU, of some hundred MB, and copy one example at a time.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing",
            "'The CUDA runtime does not support the fork start method; either the spawn or forkserver start method are "
            "required to use CUDA in subprocesses.'",
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
            "'It is generally not recommended to return CUDA tensors in multi-process loading'.",
        ),
    ),
    fix=Fix("return tensors of the CPU, and move the batch in the loop"),
    bad=Example("train.py", _SCRIPT.replace("{move}", ".cuda()")),
    good=Example("train.py", _SCRIPT.replace("{move}", "")),
    symptoms=(
        "Cannot re-initialize CUDA in forked subprocess",
        "RuntimeError: CUDA error: initialization error",
        "CUDA in DataLoader workers",
        "must use the spawn start method",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A dataset of the script whose `__getitem__` moves to CUDA, in a loader with workers."""
    if says(run.document, "spawn", "forkserver", "multiprocessing_context"):
        return
    flow = flow_of(run.document)
    for event in flow.named("DataLoader"):
        workers, dataset = event.value.argument(5, "num_workers"), event.value.argument(0, "dataset")
        if workers is None or type(workers.constant) is not int or workers.constant < 1:
            continue
        moved = _moved(flow, dataset)
        if moved is not None:
            yield RULE.at(moved.place, workers=workers.constant)
            return


def _moved(flow: Flow, dataset: Value | None) -> Event | None:
    """Where an item of the dataset's class goes to the GPU, unless a test of something decides."""
    if dataset is None or dataset.made != "object":
        return None
    for event in flow.named("cuda", "to"):
        if event.name == "to":
            given = event.value.argument(0, "device")
            if given is None or not isinstance(given.constant, str) or not given.constant.startswith("cuda"):
                continue
        for block in event.path:
            function = block.value if block.kind == "function" else None
            if function is None or function.name != "__getitem__":
                continue
            owner = function.of.of if function.of is not None else None
            if owner is None and function.frame is not None:
                owner = function.frame.owner
            if owner is dataset.of and not any(each.kind in ("if", "else") for each in event.path):
                return event
    return None
