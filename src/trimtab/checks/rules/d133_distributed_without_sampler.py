"""D133 distributed-without-sampler"""

import ast
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow import lightning
from trimtab.checks.read.flow.accelerators import accelerators, takes_loss
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.modules import is_wrapper_of_processes
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_optimizer, is_schedule
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_SCRIPT = (
    "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    "from torch.utils.data import DataLoader, DistributedSampler\n"
    "torch.distributed.init_process_group('nccl')\nmodel = DDP(torch.nn.Linear(8, 2).cuda())\n{loader}"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor epoch in range(3):\n{epoch}"
    "    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
)

RULE = Rule(
    code="D133",
    name="distributed-without-sampler",
    severity="warning",
    message="{fault}",
    why="A DataLoader knows nothing of other processes. Without a sampler that gives each its own part, every process "
    "reads every example in every epoch: on N processes an epoch takes N times as long as it should, and "
    "where all have the same seed they compute the same batches, so that more GPUs change nothing but the bill.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/data/distributed.py",
            "DistributedSampler: 'Sampler that restricts data loading to a subset of the dataset. It is especially "
            "useful in conjunction with DistributedDataParallel'.",
        ),
        Arithmetic(
            "1,000 examples in batches of 10 on 4 processes: 25 steps of 40 different examples with the sampler, 100 "
            "steps without."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "train.py",
        _SCRIPT.format(loader="loader = DataLoader(data, batch_size=32, shuffle=True)\n", epoch=""),
    ),
    good=Example(
        "train.py",
        _SCRIPT.format(
            loader="sampler = DistributedSampler(data)\nloader = DataLoader(data, batch_size=32, sampler=sampler)\n",
            epoch="    sampler.set_epoch(epoch)\n",
        ),
    ),
    symptoms=(
        "several GPUs are no faster than one",
        "every process sees the same data",
        "number of steps does not fall with more GPUs",
        "each GPU trains on the whole dataset",
        "all GPUs process the same batches",
    ),
)
_ALL: Final = "each process goes through all of the data"
_DIVIDES: Final = (
    "rank", "shard", "world", "replica", "process_index", "split_dataset_by_node", "split_by_node", "worker_info",
    "webdataset", "num_processes",
)  # fmt: skip
"""Words of data or seeds that differ between processes."""
_MESHES: Final = ("parallelize_module", "context_parallel", "tensor_parallel", "pipeline", "init_device_mesh")
_WITH_ITEMS: Final = (
    "torchvision.datasets.", "torch.utils.data.TensorDataset", "torch.utils.data.random_split", "datasets.load_",
)  # fmt: skip
_OF_ONE: Final = frozenset(
    {"RandomSampler", "SequentialSampler", "WeightedRandomSampler", "SubsetRandomSampler"}
)
_LOADERS: Final = frozenset(
    {"prepare", "prepare_data_loader", "setup", "setup_dataloaders", "skip_first_batches"}
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Loops with a backward pass over a DataLoader of torch that nothing divides: beside DistributedDataParallel or
    FSDP, beside a model that Accelerate or Fabric prepared, and in a Trainer that makes its loader itself."""
    flow = flow_of(run.document)
    if not says(run.document, "DataLoader(", "randint(") or says(run.document, *_MESHES):
        return
    yield from _lightning(run, flow)
    yield from _trainers(flow)
    yield from _same_draws(flow)
    fault = _wrapped(run, flow)
    if fault is None or _draws_by_rank(flow):
        return
    for loop in training_loops(flow):
        loader = _loader(loop.block.value)
        if loader is None or not _is_whole(loader) or _is_prepared(flow, loader):
            continue
        if not any(True for _ in loop.called("step")):
            continue  # gradients that are looked at, and train nothing
        sampler = next((event.value for event in flow.named("DistributedSampler")), None)
        over = f"`{loader.label}`" if loader.label else "the DataLoader"
        if sampler is not None and any(each in walk(loader, most=20) for each in sampler.args[:1]):
            said = f"`{sampler.label or 'DistributedSampler'}` is made, and {over} does not get it: {_ALL}"
            yield RULE.at(loader.place or loop.backward.place, fault=said, fix="pass it as `sampler=`")
            return
        message, fix, severity = fault
        said = f"{message.format(loader=over)}: {_ALL}"
        yield RULE.at(loader.place or loop.backward.place, severity=severity, fault=said, fix=fix)
        return


def _wrapped(run: Description, flow: Flow) -> tuple[str, str, Severity | None] | None:
    """What is wrong, what to do and how bad it is, by who runs the model in several processes; None where nobody is
    seen to."""
    fix = "give the DataLoader `sampler=DistributedSampler(dataset)`, and call its `set_epoch` at each epoch"
    for event in flow.each("call"):
        if is_wrapper_of_processes(event.value) and not _is_alone(flow):
            return (
                f"the model is wrapped in {event.value.last}, and {{loader}} has no DistributedSampler",
                fix,
                None,
            )
    if any(_is_given_model(event) for event in flow.named("prepare")) and accelerators(run.document):
        fault = "Accelerate prepares the model, and not {loader}"
        return fault, "pass the DataLoader to `accelerator.prepare` too", None
    if {"lightning", "lightning_fabric"} & run.document.imports:
        for event in flow.named("setup"):
            if takes_loss(event.subject):
                return (
                    "Fabric sets up the model, and not {loader}",
                    "pass it to `fabric.setup_dataloaders`",
                    None,
                )
    if any(event.value.name == "deepspeed.initialize" for event in flow.named("initialize")):
        fault = "DeepSpeed may start several processes, and {loader} has no DistributedSampler"
        return (
            fault,
            "pass the dataset to `deepspeed.initialize(training_data=...)`, or a sampler to the loader",
            "note",
        )
    return None


def _is_given_model(event: Event) -> bool:
    """Whether several objects are prepared, as for training."""
    return takes_loss(event.subject) and len(event.value.args) >= 2 and not event.value.has_rest


def _is_alone(flow: Flow) -> bool:
    """Whether there is but one process, as written."""
    sizes = [event.value.keywords.get("world_size") for event in flow.named("init_process_group")]
    return any(size is not None and size.constant == 1 for size in sizes)


def _loader(value: Value | None) -> Value | None:
    """The DataLoader of torch that a loop goes over, by itself or in `enumerate` and `tqdm`."""
    for each in walk(value, most=6):
        if each.made == "either":
            return None
        if each.made == "call" and each.name == "torch.utils.data.DataLoader":
            return each
    return None


def _is_whole(loader: Value) -> bool:
    """Whether a loader goes through all of its data, by all that can be seen."""
    data, shuffles = loader.argument(0, "dataset"), loader.argument(2, "shuffle")
    given = [loader.keywords.get(name) for name in ("sampler", "batch_sampler")]
    if data is None or loader.has_rest or any(_may_divide(each) for each in given) or len(loader.args) > 3:
        return False
    if any(_divides(each) or _is_stream(each) for each in walk(data, most=60)):
        return False
    is_shuffled = shuffles is not None and shuffles.constant is True  # which streams refuse
    is_shuffled = is_shuffled or any(each is not None and each.last in _OF_ONE for each in given)
    return is_shuffled or any(_has_items(each) for each in walk(data, most=12))


def _may_divide(sampler: Value | None) -> bool:
    """Whether a sampler may give each process its own part: not None, and none of torch's for one process."""
    return sampler is not None and sampler.constant is not None and sampler.last not in _OF_ONE


def _has_items(value: Value) -> bool:
    """Whether it is seen to be a dataset whose items have a number."""
    if value.made == "object":
        return value.of is not None and lightning.method(value.of, "__getitem__") is not None
    return value.made == "call" and value.name.startswith(_WITH_ITEMS)


def _divides(value: Value) -> bool:
    said = f"{value.label} {value.name} {' '.join(value.keywords)}".lower()
    text = value.constant.lower() if isinstance(value.constant, str) else ""
    return any(word in said or word in text for word in _DIVIDES)


def _is_stream(value: Value) -> bool:
    """Whether it may divide itself: an IterableDataset, a class that knows its rank, or what is read as a stream."""
    if value.made == "object" and value.of is not None:
        bases = any("Iterable" in base.name or "Stream" in base.name for base in value.of.args)
        return bases or any(_says_rank(node) for node in ast.walk(value.of.node or ast.Module([], [])))
    streaming = value.keywords.get("streaming")
    return "Iterable" in value.name or "Stream" in value.name or streaming is not None


def _says_rank(node: ast.AST) -> bool:
    name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
    return isinstance(name, str) and any(word in name.lower() for word in _DIVIDES)


def _is_prepared(flow: Flow, loader: Value) -> bool:
    for event in flow.named(*_LOADERS):
        prepared = [each for each in event.value.parts() if not is_schedule(each) and not is_optimizer(each)]
        if any(each is loader for given in prepared for each in walk(given, most=12)):
            return True
    return False


def _draws_by_rank(flow: Flow) -> bool:
    """Whether each process has a seed of its own: then every one shuffles in its own way."""
    for event in flow.named("manual_seed", "manual_seed_all", "seed", "set_seed", "seed_everything"):
        if any(_divides(each) for given in event.value.args for each in walk(given, most=12)):
            return True
    return False


def _same_draws(flow: Flow) -> Iterator[Diagnosis]:
    """Batches at random places of the data, drawn with one seed in all processes, as scripts after nanoGPT do it."""
    seeds = [event for event in flow.named("manual_seed") if event.value.name == "torch.manual_seed"]
    is_wrapped = any(is_wrapper_of_processes(event.value) for event in flow.each("call"))
    if not seeds or not is_wrapped or _is_alone(flow) or _draws_by_rank(flow):
        return
    for loop in training_loops(flow):
        for event in loop.called("randint"):
            value = event.value
            is_place = value.name == "torch.randint" and any(
                each.name == "len" for each in walk(value, most=12)
            )
            if (
                is_place
                and "generator" not in value.keywords
                and not any(_divides(each) for each in walk(value))
            ):
                fault = "batches are drawn with the same seed in every process: all compute the same batch"
                fix = "add the rank to the seed: `torch.manual_seed(seed + rank)`"
                yield RULE.at(event.place, fault=fault, fix=fix)
                return


def _lightning(run: Description, flow: Flow) -> Iterator[Diagnosis]:
    """Lightning's own sampler switched off, and no other in sight."""
    if says(run.document, "Sampler(", *_DIVIDES):
        return
    for event in lightning.trainers(run.document):
        for name in ("use_distributed_sampler", "replace_sampler_ddp"):
            given = event.value.keywords.get(name)
            if given is not None and given.constant is False and _loader_made(flow):
                fault = f"`{name}=False` switches Lightning's DistributedSampler off, and there is no other: {_ALL}"
                yield RULE.at(
                    event.place, fault=fault, fix=f"leave `{name}` at True, or give each loader a sampler"
                )


def _loader_made(flow: Flow) -> bool:
    loaders = [event.value for event in flow.named("DataLoader")]
    return bool(loaders) and all(_is_whole(loader) for loader in loaders)


def _trainers(flow: Flow) -> Iterator[Diagnosis]:
    """`get_train_dataloader` of a Trainer of transformers that gives back a plain DataLoader."""
    for event in flow.named("DataLoader"):
        block = event.path[0] if event.path else None
        function = block.value if block is not None and block.kind == "function" else None
        if block is None or function is None or function.name != "get_train_dataloader":
            continue
        owner = function.of.of if function.of is not None else getattr(function.frame, "owner", None)
        is_trainer = owner is not None and any(base.last.endswith("Trainer") for base in owner.args)
        is_plain = any(each is event.value for each in block.returned) and _is_whole(event.value)
        if is_trainer and is_plain and not _is_prepared(flow, event.value):
            fault = f"`get_train_dataloader` returns a DataLoader that Accelerate does not know: {_ALL}"
            yield RULE.at(event.place, fault=fault, fix="return `self.accelerator.prepare(loader)`")
