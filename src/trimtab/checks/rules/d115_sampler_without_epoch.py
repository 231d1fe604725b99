"""D115 sampler-without-epoch"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.utils.data import DataLoader, DistributedSampler\nsampler = DistributedSampler(data)\n"
    "loader = DataLoader(data, batch_size=32, sampler=sampler)\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor epoch in range(10):\n{epoch}"
    "    for x, y in loader:\n        loss = model(x, y)\n        optimizer.zero_grad()\n        loss.backward()\n"
    "        optimizer.step()\n"
)

RULE = Rule(
    code="D115",
    name="sampler-without-epoch",
    severity="warning",
    message="`set_epoch` is never called: a DistributedSampler gives every epoch the same order",
    why="The sampler makes its order from its seed and its epoch, which stays 0 until it is set. Each process sees the "
    "same examples in the same batches, epoch after epoch.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler",
            "'calling the set_epoch() method at the beginning of each epoch ... is necessary to make shuffling work "
            "properly across multiple epochs. Otherwise, the same ordering will be always used'.",
        ),
        Arithmetic(
            "`generator.manual_seed(self.seed + self.epoch)`: with an epoch of 0 always the same permutation."
        ),
    ),
    fix=Fix("call `{name}.set_epoch(epoch)` at the start of each epoch"),
    bad=Example("train.py", _SCRIPT.format(epoch="")),
    good=Example("train.py", _SCRIPT.format(epoch="    sampler.set_epoch(epoch)\n")),
    symptoms=(
        "same order every epoch",
        "overfits",
        "every process sees the same order",
        "data order is identical in every epoch on several GPUs",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the script makes a shuffling sampler and its loader, goes over it in a loop over epochs with a
    backward
    pass, and nowhere sets the epoch."""
    flow = flow_of(run.document)
    if not flow.is_whole or says(run.document, "set_epoch", "accelerator.prepare"):
        return
    for event in flow.named("DistributedSampler"):
        sampler = event.value
        shuffles = sampler.argument(3, "shuffle")
        if (
            not sampler.name.startswith("torch.")  # another's may have no epoch
            or sampler.has_rest
            or (shuffles is not None and shuffles.constant is not True)
        ):
            continue
        if any(
            _is_trained_on(flow, sampler, loader) or _is_handed_to_epochs(run, flow, sampler, loader)
            for loader in flow.named("DataLoader")
        ):
            yield RULE.at(event.place, name=sampler.label or "sampler")


def _is_trained_on(flow: Flow, sampler: Value, loader: Event) -> bool:
    given = loader.value.argument(3, "sampler")
    if given is None or not any(each is sampler for each in walk(given, most=8)):
        return False
    for event in flow.named("backward"):
        loops = [block for block in event.path if block.kind in ("for", "while")]
        for at, block in enumerate(loops):
            if at > 0 and any(each is loader.value for each in walk(block.value, most=20)):
                return True
    return False


def _is_handed_to_epochs(run: Description, flow: Flow, sampler: Value, loader: Event) -> bool:
    """Whether a loop over epochs gives the loader to a method of the file that trains on it, perhaps in a subclass."""
    given = loader.value.argument(3, "sampler")
    if given is None or not any(each is sampler for each in walk(given, most=8)):
        return False
    for event in flow.events:
        if event.kind != "call" or "train" not in event.name or not event.path:
            continue
        block = event.path[-1]
        is_epochs = block.kind == "for" and any(
            "epochs" in (each.name or each.label) for each in walk(block.value)
        )
        is_given = any(each is loader.value for each in event.value.args)
        if is_epochs and is_given and says(run.document, f"def {event.name}("):
            return True
    return False
