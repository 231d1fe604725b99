"""P119 collective-in-one-rank"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.accelerators import is_accelerator
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    torch.nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
    "if dist.get_rank() == 0:\n    torch.save(model.state_dict(), 'model.pt')\n{indent}dist.barrier()\n"
)

RULE = Rule(
    code="P119",
    name="collective-in-one-rank",
    severity="error",
    message="`{call}` waits for all processes, and only rank 0 reaches it: the run hangs",
    why="A collective call returns when every process of the group has made it. In a branch that one process takes it "
    "waits until the time-out, or pairs with a later call of the others and mixes up their data.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/pull/1081",
            "'all the processes except the master one already exit ... It means that the master process is waiting': "
            "the evaluation of rank 0 hung at `torch.distributed.barrier()`.",
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier",
            "'This collective blocks processes until the whole group enters this function'.",
        ),
    ),
    fix=Fix("call it outside the branch, in every process"),
    bad=Example("train.py", _SCRIPT.replace("{indent}", "    ")),
    good=Example("train.py", _SCRIPT.replace("{indent}", "")),
    symptoms=(
        "training hangs",
        "NCCL timeout",
        "hangs when saving a checkpoint",
        "hangs after the first epoch",
        "training hangs when only rank 0 evaluates",
        "Watchdog caught collective operation timeout",
        "NCCL timeout in evaluation or saving",
    ),
)
_COLLECTIVE: Final = (
    "barrier", "all_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor", "broadcast",
    "broadcast_object_list", "reduce_scatter", "wait_for_everyone", "gather_for_metrics",
)  # fmt: skip
_MAIN: Final = (
    "is_main_process",
    "is_local_main_process",
    "is_global_zero",
    "is_master",
    "is_world_process_zero",
)
_RANKS: Final = ("rank", "local_rank", "global_rank", "world_rank", "RANK", "LOCAL_RANK")


def check(run: Description) -> Iterator[Diagnosis]:
    """A collective call in a branch of rank 0, without its twin in a branch of the others."""
    flow = flow_of(run.document)
    for event in flow.named(*_COLLECTIVE):
        is_theirs = event.value.name.startswith(("torch.distributed.", "accelerate."))
        if not is_theirs and not is_accelerator(event.subject):
            continue
        block = next((each for each in event.path if _is_of_main(each)), None)
        if block is None or "group" in event.value.keywords or event.value.has_rest:
            continue
        if not _has_twin(flow, event):
            yield RULE.at(event.place, call=event.name)
            return


def _is_of_main(block: Block) -> bool:
    """Whether only rank 0 takes a branch: of an `else` the opposite of its test."""
    return block.kind in ("if", "else") and _truth(block.value) is (block.kind == "if")


def _truth(value: Value | None) -> bool | None:
    """True for a test that holds in rank 0 alone, False for one that holds in all others, None for anything else."""
    if value is None:
        return None
    if value.made == "binary" and value.name == "not":
        inner = _truth(value.args[0])
        return None if inner is None else not inner
    if value.made == "binary" and value.name == "and":
        return True if any(_truth(each) is True for each in value.args) else None
    if value.made == "compare" and value.name in ("Eq", "NotEq") and len(value.args) == 2:
        one, other = value.args
        if other.constant == 0 and type(other.constant) is int and _is_rank(one):
            return value.name == "Eq"
        return None
    return True if (value.name in _MAIN or value.label in _MAIN) else None


def _is_rank(value: Value) -> bool:
    return (value.made == "call" and value.last in ("get_rank", "get_global_rank")) or (
        value.made != "constant" and (value.label in _RANKS or value.name in _RANKS)
    )


def _has_twin(flow: Flow, event: Event) -> bool:
    """Whether the other ranks make the same call in a branch of theirs, as where one prepares data for all."""
    for other in flow.named(event.name):
        for block in other.path:
            if block.kind in ("if", "else") and not _is_of_main(block) and _is_of_others(block):
                return True
    return False


def _is_of_others(block: Block) -> bool:
    truth = _truth(block.value)
    if truth is not None:
        return truth is (block.kind == "else")
    return any(
        each.made == "compare" and each.name in ("NotEq", "NotIn", "Gt")
        for each in walk(block.value, most=12)
    )
