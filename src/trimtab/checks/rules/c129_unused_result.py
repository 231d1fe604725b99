"""C129 unused-result"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.follow import KEPT
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom datasets import load_dataset\nfrom transformers import Trainer\n"
    "dataset = load_dataset('imdb')\n{kept}dataset.map(tokenize, batched=True)\n"
    "Trainer(model, train_dataset=dataset['train']).train()\n"
)

RULE = Rule(
    code="C129",
    name="unused-result",
    severity="error",
    message="`{method}()` returns a new object and leaves `{of}` unchanged; the result is not used",
    why="Datasets are immutable, and a tensor has methods without an underscore that leave it as it was. The line has "
    "no effect: what comes after it sees the data as they were before.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/datasets/process",
            "'All processing methods in this guide return a new Dataset object. Modification is not done in-place.'",
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",
            "Otherwise, the returned tensor is a copy of self with the desired torch.dtype and torch.device.",
        ),
    ),
    fix=Fix("assign it: `{of} = {of}.{method}(...)`"),
    bad=Example("train.py", _SCRIPT.replace("{kept}", "")),
    good=Example("train.py", _SCRIPT.replace("{kept}", "dataset = ")),
    symptoms=(
        "dataset is not tokenized after map",
        "Expected all tensors to be on the same device",
        "column is still there",
    ),
)
_OF_TENSORS: Final = frozenset({"masked_fill", "clamp", "unsqueeze", "masked_scatter", "index_fill"})
_MOVES: Final = frozenset({"to", "cuda"})
_PARTS: Final = frozenset(
    {
        "items",
        "values",
        "named_modules",
        "named_children",
        "children",
        "modules",
        "named_parameters",
        "parameters",
        "zip",
    }
)
"""What may give modules, which move in place."""
_IN_PLACE: Final = frozenset({"torch_geometric", "dgl"})
"""Libraries whose batches move in place."""
_METHODS: Final = KEPT - {"to", "cuda", "masked_fill", "clamp", "unsqueeze", "masked_scatter", "index_fill"}
_MAKERS: Final = (
    "datasets.load_dataset",
    "datasets.load_from_disk",
    "datasets.Dataset.",
    "datasets.DatasetDict",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A line of its own that calls such a method of a dataset that the script loads, or of a tensor."""
    reported: set[object] = set()
    flow = flow_of(run.document)
    for event in flow.each("drop"):
        if event.value.made != "call" or event.subject is None or event.place in reported:
            continue
        if event.name in _MOVES:
            is_lost = _is_tensor(event) and not run.document.imports & _IN_PLACE and _is_read(flow, event)
        elif event.name in _OF_TENSORS:
            is_lost = event.subject.made not in ("object", "imported", "unknown") and not _is_demonstration(
                run, event
            )
        else:
            is_shown = run.document.text.startswith("{") and event.name != "map"  # the last line of a cell
            is_lost = _is_dataset(event.subject) and not _only_looks(event) and not is_shown
        if is_lost:
            reported.add(event.place)
            of = event.subject.label or event.subject.name or "x"
            yield RULE.at(event.place, method=event.name, of=of)


def _is_demonstration(run: Description, event: Event) -> bool:
    """Whether one line after another calls a method of the tensor and keeps nothing: a tour of its methods."""
    name = event.subject.label if event.subject is not None else ""
    lines = run.document.text.split("\n")[max(0, event.place.line - _NEAR) : event.place.line + _NEAR - 1]
    return bool(name) and sum(line.lstrip(' "').startswith(f"{name}.") for line in lines) >= _FEW


_NEAR: Final = 5
"""Lines."""
_FEW: Final = 3


def _is_dataset(value: Value | None, *, depth: int = 0) -> bool:
    """What `datasets` loads, one of its splits, or what a method made of it."""
    if value is None or depth > 12:
        return False
    if value.made == "call" and value.name.startswith(_MAKERS):
        return True
    if value.made == "item" and value.args and value.args[0].constant in ("train", "test", "validation"):
        return _is_dataset(value.of, depth=depth + 1)
    return value.made == "call" and value.name in _METHODS and _is_dataset(value.of, depth=depth + 1)


def _only_looks(event: Event) -> bool:
    """Whether `map` runs something for its effect alone: `dataset.map(print)`."""
    given = event.value.args[0] if event.value.args else None
    return event.name == "map" and given is not None and given.name in ("print", "append", "write")


def _is_read(flow: Flow, drop: Event) -> bool:
    """Whether a model is then given the very thing that was not moved."""
    return any(
        call.index > drop.index
        and any(each is drop.subject for each in (*call.value.args, *call.value.keywords.values()))
        for call in forwards(flow.each("call"))
    )


def _is_tensor(event: Event) -> bool:
    """Whether it is one of several parts of a batch, or an entry of one, moved to a device; a whole batch may be an
    object that moves itself."""
    of = event.subject
    if of is None or of.made != "item" or of.of is None or (not event.value.args and event.name == "to"):
        return False
    over = of.of.of
    if over is not None and over.name in _PARTS:
        return False
    return of.of.made == "element" and bool(of.args) and isinstance(of.args[0].constant, int | str)
