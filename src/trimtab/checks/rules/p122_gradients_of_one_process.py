"""P122 gradients-of-one-process"""

import re
from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.loops import stepped, training_loops
from trimtab.checks.read.flow.modules import is_module
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader, DistributedSampler\n"
    "torch.distributed.init_process_group('nccl')\nmodel = torch.nn.Linear(8, 2).cuda()\n{wrap}"
    "sampler = DistributedSampler(data)\nloader = DataLoader(data, batch_size=32, sampler=sampler)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor epoch in range(3):\n"
    "    sampler.set_epoch(epoch)\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        torch.nn.functional.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
)

RULE = Rule(
    code="P122",
    name="gradients-of-one-process",
    severity="error",
    message="gradients are not synchronized between processes: each trains a separate model, {part}",
    why="`init_process_group` only connects the processes. Without DistributedDataParallel, FSDP or an `all_reduce` of "
    "the gradients, every process updates its model with the gradients of its own batches: the models diverge, and the "
    "one that rank 0 saves was trained on a part of the data.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/notes/ddp.html",
            "DDP 'registers autograd hooks' in its constructor, and these synchronize the gradients in `backward()`.",
        ),
        Arithmetic(
            "On 4 processes each model takes the steps of a quarter of the batch, with four times the noise."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{wrap}", "")),
    good=Example(
        "train.py", _SCRIPT.replace("{wrap}", "model = torch.nn.parallel.DistributedDataParallel(model)\n")
    ),
    symptoms=(
        "several GPUs train no better than one",
        "weights differ between ranks",
        "loss differs between processes",
        "gradients are not synchronized across GPUs",
        "model of rank 0 is as good as one trained on a single GPU",
    ),
)
_SYNCHRONISES: Final = (
    "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard", "replicate(", "deepspeed",
    "horovod", "hvd.", "apex", "fairscale", "colossalai", "bagua", "hivemind", "byteps", "megatron", "parallelize",
    "distribute_module", "distribute_tensor", "DTensor", "DeviceMesh", "device_mesh", "Fabric", "reduce_scatter",
    "coalesced", "rpc", "pipeline", "isend", ".send(", ".recv(", "average_grad", "reduce_grad", "sync_grad",
    "allreduce", "all_reduce_grad", "DataParallel", "PostLocalSGD", "average_parameters", "average_model", "torch_xla",
    "register_post_accumulate", "is_ddp", "functional_collectives",
)  # fmt: skip
"""Words of scripts that bring gradients or weights together, or divide the model instead of the data."""
_OWN_GRADIENTS: Final = r"\.grad\b(?!\s*(?:=|is)\s*None)"
_LIBRARIES: Final = frozenset(
    {"lightning", "pytorch_lightning", "lightning_fabric", "ignite", "composer", "fastai"}
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop of torch's own in a script that makes a process group and nowhere brings gradients together; and one of
    Accelerate that prepares its loader, and not the model that the loop trains."""
    document = run.document
    if document.imports & _LIBRARIES:
        return
    flow = flow_of(document)
    is_group = any(True for _ in flow.named("init_process_group"))
    made = accelerators(document)
    if not flow.is_whole or (not is_group and len(made) != 1) or says(document, *_SYNCHRONISES):
        return
    if any(re.search(_OWN_GRADIENTS, text) for text in (document.text, *flow.texts)):
        return
    for loop in training_loops(flow):
        model = _trained(loop.steps(), flow)
        if model is None:
            continue
        if made:
            if _prepares_all_but(flow, model):
                part = "as the Accelerator prepares the loader, and not the model"
                label = model.label or "model"
                yield RULE.at(
                    loop.backward.place,
                    severity="warning",
                    part=part,
                    fix=f"pass `{label}` to `accelerator.prepare`",
                )
                return
            continue
        is_divided = any(True for _ in flow.named("DistributedSampler"))
        part = "on its part of the data" if is_divided else "on its own batches"
        fix = "wrap the model: `DistributedDataParallel(model, device_ids=[local_rank])`"
        yield RULE.at(loop.backward.place, part=part, fix=fix)
        return


def _trained(steps: Iterator[Event], flow: Flow) -> Value | None:
    """The model whose parameters the optimizer of a loop has, where it is seen to be made and given to nothing that
    may wrap it."""
    for step in steps:
        for optimizer in options(stepped(step)):
            given = optimizer.argument(0, "params") if optimizer.made == "call" else None
            for each in walk(given, most=12):
                if each.made == "call" and each.last in ("parameters", "named_parameters"):
                    model = root(each.of)
                    if model is not None and (_is_plain(model) or _is_moved_here(flow, model)):
                        return None if _is_handed_on(flow, model) else model
    return None


def _is_plain(model: Value) -> bool:
    """Whether it is seen to be made without a wrapper, by a loader or by the name of a class."""
    if model.made == "call" and model.of is None and model.last[:1].isupper() and "." in model.name:
        return True
    return model.made in ("call", "object") and is_module(model)


def _is_moved_here(flow: Flow, model: Value) -> bool:
    """Whether a parameter is moved to a device in the function that makes the process group: what is wrapped needs
    both before."""
    if model.made != "parameter":
        return False
    groups = [event.path for event in flow.named("init_process_group") if event.path]
    return any(
        event.subject is model and event.path in groups and event.path for event in flow.named("to", "cuda")
    )


def _is_handed_on(flow: Flow, model: Value) -> bool:
    """Whether a function that nobody can read gets the model: it may wrap it, or set hooks."""
    own = {each.name for each in flow.holders}
    for event in flow.each("call"):
        if (
            event.name in own
            or event.value is model
            or event.value.last in _HARMLESS
            or event.name in _HARMLESS
        ):
            continue
        if is_accelerator(event.subject):
            continue
        if any(each is model for each in (*event.value.args, *event.value.keywords.values())):
            return True
    return False


_HARMLESS: Final = frozenset(
    {
        "clip_grad_norm_", "print", "deepcopy", "save", "compile", "len", "info", "summary", "watch", "isinstance",
        "hasattr", "evaluate", "validate", "test", "id", "load_state_dict", "getattr", "type", "repr", "str", "sum",
        "get_peft_model", "prepare_model_for_kbit_training", "AveragedModel", "EMA",
    }
)  # fmt: skip


def _prepares_all_but(flow: Flow, model: Value) -> bool:
    """Whether an Accelerator prepares something, and never the model."""
    prepared = [event for event in flow.named("prepare") if is_accelerator(event.subject)]
    if not prepared or any(event.value.has_rest for event in prepared):
        return False
    if any(True for _ in flow.named("prepare_model")):
        return False
    return not any(root(given) is model for event in prepared for given in event.value.args)
