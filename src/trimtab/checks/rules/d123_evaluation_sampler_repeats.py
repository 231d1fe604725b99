"""D123 evaluation-sampler-repeats"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, without_gradients
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader\n"
    "from torch.utils.data.distributed import DistributedSampler\n"
    "{sampler}valid_loader = DataLoader(valid, batch_size=8{given})\nmodel.eval()\nright = torch.zeros(())\n"
    "with torch.no_grad():\n    for x, y in valid_loader:\n        right += (model(x).argmax(-1) == y).sum()\n"
    "torch.distributed.all_reduce(right)\n"
)
_SAMPLER = "sampler = DistributedSampler(valid, shuffle=False)\n"

RULE = Rule(
    code="D123",
    name="evaluation-sampler-repeats",
    severity="note",
    message="{fault}",
    why="A DistributedSampler gives every process the same number of examples. If they do not divide evenly, it "
    "repeats the first ones or, with `drop_last`, leaves the last ones out. The metric is then that of another set, "
    "and depends on the number of processes.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/data/distributed.py",
            "`padding_size = self.total_size - len(indices)`, and `indices += indices[:padding_size]`.",
        ),
        Arithmetic("1,001 examples on 8 processes: 126 each, 1,008 in all, 7 of them twice."),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(sampler=_SAMPLER, given=", sampler=sampler")),
    good=Example("train.py", _SCRIPT.format(sampler="", given="")),
    symptoms=(
        "validation accuracy on several GPUs is not that on one",
        "different metrics on two GPUs than on one",
        "validation accuracy depends on the number of GPUs",
        "evaluation counts examples twice",
    ),
)
_REDUCES: Final = (
    "all_reduce", "all_gather", "gather", "reduce", "synchronize_between", "barrier_and", "sync_dist", "torchmetrics",
    "SyncBN", "average_across", "dist_mean", "allreduce",
)  # fmt: skip
_HELD_OUT: Final = ("val", "test", "eval", "dev")
_BRINGS: Final = (
    "gather", "reduce", "torchmetrics", "all_reduce", "num_process", "is_local_main_process_only", "split_between",
)  # fmt: skip
"""Words of what brings the parts of processes together."""
_CUTS: Final = (
    "[: len(",
    "[:len(",
    "total_size",
    "num_samples",
    "is_padding",
    "drop_duplicates",
    "np.unique",
    "image_id",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """An unshuffled DistributedSampler of a loader that is only read without gradients, in a script that nowhere cuts
    what was repeated."""
    flow = flow_of(run.document)
    repeated = _gathered(run, flow)
    if repeated is not None:
        fault = "`gather` brings the examples that Accelerate repeated in the last batch as well: they count twice"
        yield RULE.at(repeated.place, severity="warning", fault=fault, fix="call `gather_for_metrics`")
        return
    alone = _counted_alone(run, flow)
    if alone is not None:
        fault = "each process evaluates its own part of the loader that Accelerate prepared, and nothing adds them up"
        fix = "bring predictions and labels together with `accelerator.gather_for_metrics` before they are counted"
        yield RULE.at(alone.place, severity="warning", fault=fault, fix=fix)
        return
    if not flow.is_whole or says(run.document, "accelerator.prepare", "gather_for_metrics", *_CUTS):
        return
    for event in flow.named("DistributedSampler"):
        sampler = event.value
        shuffles = sampler.argument(3, "shuffle")
        if sampler.of is not None or sampler.has_rest or shuffles is None or shuffles.constant is not False:
            continue
        loops = _loops_over(flow, sampler)
        if not loops or not all(without_gradients(each) for each in loops):
            continue
        if not says(run.document, *_REDUCES):
            fault = "each process evaluates its own part, and nothing adds the parts up"
            fix = "sum counts and totals with `torch.distributed.all_reduce`, or evaluate all in one process"
            yield RULE.at(event.place, severity="warning", fault=fault, fix=fix)
            return
        drops = sampler.argument(5, "drop_last")
        does = (
            "leaves the last examples out"
            if drops is not None and drops.constant is True
            else "repeats examples"
        )
        fault = f"the sampler of the evaluation {does} where they do not divide by the number of processes"
        yield RULE.at(
            event.place, fault=fault, fix="give each process every n-th example: `range(rank, len(data), n)`"
        )
        return


def _gathered(run: Description, flow: Flow) -> Event | None:
    """Accelerate's `gather` of predictions and labels in a loop over a held-out loader that it prepared, in a script
    that cuts nothing."""
    if "accelerate" not in run.document.imports or says(
        run.document, "gather_for_metrics", *_CUTS, "even_batches"
    ):
        return None
    prepared = [each for event in flow.named("prepare") for each in event.value.args]
    for event in flow.named("gather"):
        loop = innermost_loop(event)
        if loop is None or loop.kind != "for" or not is_accelerator(event.subject) or not event.value.args:
            continue
        given = event.value.args[0]
        is_pair = given.made == "list" and len(given.args) == 2
        over = [each for each in walk(loop.value, most=12) if any(each is one for one in prepared)]
        held_out = any(part in each.label.lower() for each in over for part in _HELD_OUT)
        if is_pair and held_out and any(_is_label(each) for each in given.args):
            return event
    return None


def _counted_alone(run: Description, flow: Flow) -> Event | None:
    """What an evaluation over a prepared loader counts or collects first, in a script that brings nothing together."""
    if not accelerators(run.document) or says(run.document, *_BRINGS):
        return None
    prepared = [each for event in flow.named("prepare") for each in _given(event)]
    for event in flow.events:
        loop = innermost_loop(event) if _collects(event) else None
        if loop is None or loop.kind != "for" or not _is_evaluation(flow, loop):
            continue
        over = [each for each in walk(loop.value, most=12) if any(each is one for one in prepared)]
        if any(part in each.label.lower() for each in over for part in _HELD_OUT):
            return event
    return None


def _given(event: Event) -> list[Value]:
    """What Accelerate prepares, one by one."""
    if not is_accelerator(event.subject):
        return []
    return [part for each in event.value.args for part in (each.args if each.made == "list" else (each,))]


def _collects(event: Event) -> bool:
    """Whether a metric, a list or a sum takes something in."""
    if event.kind == "add":
        return True
    return (
        event.kind == "call" and event.name in ("add_batch", "append", "extend") and event.subject is not None
    )


def _is_evaluation(flow: Flow, loop: Block) -> bool:
    """Whether a loop goes over batches without gradients, and what it computes is no text or image that is shown."""
    inside = flow.inside(loop)
    if any(each.kind == "call" and each.name in ("backward", "save", "imsave", "write") for each in inside):
        return False
    return bool(inside) and (without_gradients(inside[0]) or any(without_gradients(each) for each in inside))


def _is_label(value: Value) -> bool:
    """Whether it is the labels of the batch."""
    key = value.args[0].constant if value.made == "item" and value.args else None
    return key in ("labels", "label") or value.label in ("labels", "label", "references", "targets", "y")


def _loops_over(flow: Flow, sampler: Value) -> list[Event]:
    """The first event in each loop over a loader with the sampler."""
    found: dict[int, Event] = {}
    for event in flow.events:
        for block in event.path:
            if block.kind == "for" and id(block) not in found and _reads(block, sampler):
                found[id(block)] = event
    return list(found.values())


def _reads(block: Block, sampler: Value) -> bool:
    for each in walk(block.value, most=12):
        if each.made == "call" and each.last == "DataLoader":
            given = each.argument(3, "sampler")
            return given is not None and any(one is sampler for one in walk(given, most=6))
    return False
