"""D116 workers-share-one-seed"""

import ast
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import numpy as np\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\n"
    "class Noised(Dataset):\n    def __init__(self, lines):\n        self.lines = lines\n{early}"
    "    def __getitem__(self, index):\n{late}"
    "        return self.lines[index] * ({rng}.random(len(self.lines[index])) < 0.85)\n"
    "loader = DataLoader(Noised(lines), batch_size=64, shuffle=True, num_workers=8)\n"
)

RULE = Rule(
    code="D116",
    name="workers-share-one-seed",
    severity="warning",
    message="{fault}",
    why="Workers are copies of the process, and a generator that the dataset made before is copied with its "
    "state. With "
    "8 workers each drawn number is used 8 times, and with new workers in every epoch the same ones come again.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/issues/5059",
            "'np.random generates the same random numbers for each data batch': since then torch seeds its own "
            "generator and numpy's global one, not those that a dataset holds.",
        ),
        Arithmetic(
            "A generator with a fixed seed, forked 8 times: 8 equal streams, so 1/8 of the randomness."
        ),
    ),
    fix=Fix(
        "make the generator from `torch.initial_seed()` in the worker (`worker_init_fn`, or at the first "
        "`__getitem__`), "
        "or draw with torch"
    ),
    bad=Example(
        "train.py",
        _SCRIPT.format(early="        self.rng = np.random.default_rng(1)\n", late="", rng="self.rng"),
    ),
    good=Example(
        "train.py",
        _SCRIPT.format(
            early="", late="        rng = np.random.default_rng([torch.initial_seed(), index])\n", rng="rng"
        ),
    ),
    symptoms=(
        "augmentation repeats",
        "overfits",
        "all workers produce the same random augmentation",
        "numpy random numbers repeat in DataLoader workers",
    ),
)
_GENERATORS = frozenset({"default_rng", "RandomState", "Random", "Generator"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a dataset of the script draws in `__getitem__` from a generator that its `__init__` or the script
    made, and goes to a loader with workers that seeds nothing."""
    flow = flow_of(run.document)
    yield from _seeded_alike(flow)
    for event in flow.named("DataLoader"):
        workers, dataset = event.value.argument(5, "num_workers"), event.value.argument(0, "dataset")
        if dataset is None or dataset.made != "object" or workers is None or event.value.has_rest:
            continue
        if (
            type(workers.constant) is not int
            or workers.constant < 2
            or "worker_init_fn" in event.value.keywords
        ):
            continue
        made = _shared_generator(flow, dataset)
        if made is not None and not says(run.document, "get_worker_info"):
            fault = "every worker of the loader gets a copy of this generator, and draws the same numbers"
            yield RULE.at(made.place, fault=fault)


def _seeded_alike(flow: Flow) -> Iterator[Diagnosis]:
    """A `worker_init_fn` of the script that seeds numpy or `random` with a number of its own, for a dataset that draws
    from them."""
    for event in flow.named("DataLoader"):
        start, dataset = event.value.keywords.get("worker_init_fn"), event.value.argument(0, "dataset")
        if start is None or start.made != "function" or start.node is None or dataset is None:
            continue
        is_hidden = dataset.made in ("parameter", "unknown", "attribute", "item") or (
            dataset.made == "call" and not dataset.name.startswith(_OF_LIBRARIES)
        )
        if not _draws(flow, dataset) and not (is_hidden and not _uses_its_number(start.node)):
            continue
        for node in ast.walk(start.node):
            is_seed = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "seed"
            )
            if not is_seed or not node.args:  # type: ignore[union-attr]
                continue
            given = node.args[0]  # type: ignore[union-attr]
            if isinstance(given, ast.Constant):
                seed = given.value
                fault = f"`worker_init_fn` seeds every worker with {seed}: all draw the same numbers in each epoch"
                yield RULE.at(event.place, severity="warning" if is_hidden else None, fault=fault)
                return


_OF_LIBRARIES = ("torch.", "torchvision.", "datasets.")


def _uses_its_number(function: ast.AST) -> bool:
    """Whether a `worker_init_fn` reads the number of its worker, or anything else that differs between workers."""
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and ("worker" in node.id or "rank" in node.id)
        for node in ast.walk(function)
    ) or any(isinstance(node, ast.Attribute) and node.attr == "initial_seed" for node in ast.walk(function))


def _draws(flow: Flow, dataset: Value | None) -> bool:
    """Whether items of a dataset of the script depend on numpy's generator or on that of `random`."""
    if dataset is None or dataset.made != "object":
        return False
    return any(
        event.kind == "call"
        and event.value.name.startswith(("numpy.random.", "random."))
        and _is_in_item(event)
        for event in flow.events
    )


def _shared_generator(flow: Flow, dataset: Value) -> Event | None:
    """Where a generator is made that `__getitem__` draws from, though it is not made there."""
    made = {
        id(event.value): event
        for event in flow.named(*_GENERATORS)
        if event.value.of is None and not _is_in_item(event) and "torch" not in event.value.name
    }
    held = {id(value) for value in dataset.fields.values()}
    held |= {key for key, event in made.items() if not event.path}  # of the script, which forks with it
    drawn = [event for event in flow.events if id(event.subject) in made.keys() & held and _is_in_item(event)]
    seeds = [event for event in flow.named("seed", "manual_seed") if _is_in_item(event)]
    return made[id(drawn[0].subject)] if drawn and not seeds else None


def _is_in_item(event: Event) -> bool:
    names = [block.value.name for block in event.path if block.kind == "function" and block.value is not None]
    return "__getitem__" in names
