"""L124 softmax-over-the-batch"""

from collections.abc import Iterator
from typing import Any, Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.ends import end_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop, root
from trimtab.checks.read.flow.slices import plain
from trimtab.checks.read.flow.values import Block, Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nimport torch.nn.functional as F\nfrom torch.utils.data import DataLoader\n"
    "model = torch.nn.Linear(784, 10)\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\n"
    "for x, y in DataLoader(data, batch_size=32, shuffle=True):\n    optimizer.zero_grad()\n"
    "    loss = F.nll_loss(F.log_softmax(model(x), dim={dim}), y)\n    loss.backward()\n    optimizer.step()\n"
)

RULE = Rule(
    code="L124",
    name="softmax-over-the-batch",
    severity="error",
    message="`{name}` normalizes over axis 0, the batch: the examples compete with one another, not the classes",
    why="The probabilities of the classes of one example have to add up to 1. Over axis 0 those of one class over all "
    "examples of the batch do: what an example gets depends on the others, a batch of one gets probability 1 for "
    "every class, and the loss can reach small values without the model telling one class from another.",
    evidence=(
        Arithmetic(
            "Logits [[0, 0], [0, 0]]: over axis 0 each example has 1/2 for each class, and with a batch of one both "
            "classes have 1 and the loss is 0."
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html",
            "input: '(N, C) where C = number of classes'.",
        ),
    ),
    fix=Fix("pass `dim=-1`, or `dim=1` where the classes are the second of more axes"),
    bad=Example("train.py", _SCRIPT.replace("{dim}", "0")),
    good=Example("train.py", _SCRIPT.replace("{dim}", "1")),
    symptoms=(
        "loss falls and accuracy does not rise",
        "predictions depend on the batch size",
        "every probability is 1 with a batch of one",
        "accuracy drops when predicting one example at a time",
        "prediction changes with the other examples of the batch",
    ),
)
_FUNCTIONS: Final = frozenset(
    {"nll_loss", "mse_loss", "kl_div", "binary_cross_entropy", "l1_loss", "smooth_l1_loss", "cross_entropy"}
)
_MODULES: Final = frozenset(
    {"NLLLoss", "MSELoss", "KLDivLoss", "BCELoss", "L1Loss", "SmoothL1Loss", "CrossEntropyLoss"}
)
_ENDS: Final = frozenset({"softmax", "log_softmax", "Softmax", "LogSoftmax"})
_PRODUCTS: Final = frozenset({"matmul", "mm", "einsum", "bmm", "cosine_similarity", "t", "cdist"})


def check(run: Description) -> Iterator[Diagnosis]:
    """A softmax over axis 0 that a loss over classes gets, whose classes are picked on another axis, or that a module
    returns. An error where what it is taken of is seen to be a batch, and a warning elsewhere, because one example
    alone has its classes on axis 0."""
    if not says(run.document, "oftmax") or not says(
        run.document, "dim=0", "dim = 0", ", 0)", "oftmax(0)", "axis=0"
    ):
        return
    flow = flow_of(run.document)
    reported: set[object] = set()
    for made, is_batch in (*_of_losses(flow), *_of_picks(flow), *_of_modules(flow)):
        if (
            made.place is None
            or made.place in reported
            or not _is_of_examples(made)
            or _is_other_way_too(flow, made)
        ):
            continue
        reported.add(made.place)
        yield RULE.at(made.place, severity=None if is_batch else "warning", name=made.last)


def _of_losses(flow: Flow) -> Iterator[tuple[Value, bool]]:
    """What losses are given."""
    for event in flow.each("call"):
        for given in _inputs(event):
            made = _over_examples(given)
            if made is not None:
                yield made, _is_of_loader(event) or _is_flat(made) or _is_judged(flow, given)


def _of_picks(flow: Flow) -> Iterator[tuple[Value, bool]]:
    """What the classes are picked from on another axis: `logp.gather(1, ...)`, `logp[arange, y]`."""
    for event in flow.named("gather", "argmax", "topk"):
        value, subject = event.value, event.subject
        is_method = subject is not None and subject.made != "imported"
        dim = value.argument((1 if event.name == "topk" else 0) + (not is_method), "dim")
        made = _over_examples(subject if is_method else value.argument(0, "input"))
        if made is not None and dim is not None and dim.constant in (1, -1):
            yield made, True
    for event in flow.named("mean", "sum"):
        for each in walk(event.subject, most=6):
            made = _over_examples(each.of) if each.made == "item" and each.args else None
            if made is not None and each.args[0].made == "list" and len(each.args[0].args) == 2:
                yield made, any(part.last in ("arange", "range") for part in each.args[0].args)


def _of_modules(flow: Flow) -> Iterator[tuple[Value, bool]]:
    """What `forward` returns, of rows of one length."""
    for block in _forwards(flow):
        for returned in block.returned:
            made = _over_examples(returned) if len(block.returned) == 1 else None
            if made is not None and _is_flat(made):
                yield made, True
            elif made is not None and made.last in ("log_softmax", "LogSoftmax"):
                yield made, False


def _forwards(flow: Flow) -> list[Block]:
    found: dict[int, Block] = {}
    for event in flow.each("call"):
        for block in event.path:
            if block.kind == "function" and block.value is not None and block.value.name == "forward":
                found[id(block)] = block
    return list(found.values())


def _over_examples(value: Value | None) -> Value | None:
    """The softmax over axis 0 that made a value; None where nothing of the kind did last."""
    made = end_of(value)
    return made if made is not None and made.last in _ENDS and _axis(made) == 0 else None


def _inputs(event: Event) -> tuple[Value, ...]:
    """What a loss is given that are probabilities, its logarithm taken or not."""
    call = event.value
    is_function = call.of is None and call.last in _FUNCTIONS and call.name.startswith("torch.nn.functional.")
    criterion = root(call.of) if event.name == "__call__" else None
    is_module = (
        criterion is not None
        and criterion.made == "call"
        and criterion.last in _MODULES
        and criterion.name.startswith("torch.nn.")
    )
    if not is_function and not is_module:
        return ()
    found = [call.argument(0, "input"), call.argument(1, "target")]
    if "ross" in (criterion or call).last:
        found = found[1:]  # softmax before a cross entropy is a fault of its own
    return tuple(_without_log(each) for each in found if each is not None)


def _without_log(value: Value) -> Value:
    seen = plain(value) or value
    if seen.made != "call" or seen.last != "log":
        return value
    inside = seen.of if seen.of is not None and seen.of.made != "imported" else (*seen.args, seen)[0]
    if inside.made == "binary" and inside.name == "+" and len(inside.args) == 2:
        return inside.args[0]  # a small number that keeps the logarithm finite
    return inside


def _axis(made: Value) -> Any:
    """The axis of a softmax, as a function, a method or a module; UNKNOWN where it is not written."""
    is_function = made.last[0].islower() and (made.of is None or made.of.made == "imported")
    given = made.argument(1 if is_function else 0, "dim") or made.keywords.get("axis")
    return UNKNOWN if given is None or isinstance(given.constant, bool) else given.constant


def _input_of(made: Value) -> Value | None:
    return made.argument(0, "input") if made.of is None else made.of


def _is_of_examples(made: Value) -> bool:
    """Whether axis 0 may be that of examples: not weights of the script itself, and not products of all examples with
    all others."""
    given = plain(_input_of(made))
    if given is not None and (
        given.made == "attribute" or given.name in ("torch.nn.Parameter", "nn.Parameter")
    ):
        return False
    for each in walk(given, most=8):
        if (each.made == "binary" and each.name == "@") or each.last in _PRODUCTS:
            return False
    return True


def _is_other_way_too(flow: Flow, made: Value) -> bool:
    """Whether a softmax of the same values goes over another axis as well."""
    given = _input_of(made)
    for event in flow.named("softmax", "log_softmax"):
        other = event.value
        if other is not made and given is not None and _input_of(other) is given and _axis(other) != 0:
            return True
    return False


def _is_of_loader(event: Event) -> bool:
    """Whether the loss is taken in a loop over a DataLoader, or in the step that Lightning calls for each batch."""
    loop = innermost_loop(event)
    for each in walk(loop.value if loop is not None else None, most=8):
        if each.made == "call" and each.name == "torch.utils.data.DataLoader":
            size = each.argument(1, "batch_size")
            return size is None or size.constant is UNKNOWN or (size.constant or 0) > 1
        if (
            each.made in ("parameter", "unknown", "attribute")
            and "loader" in (each.label or each.name).lower()
        ):
            return True
    return any(
        block.kind == "function"
        and block.value is not None
        and block.value.name in ("training_step", "validation_step")
        for block in event.path
    )


def _is_flat(made: Value) -> bool:
    """Whether it is taken of rows of one length: `x.view(-1, 10)`, or something behind `flatten(1)`."""
    for each in walk(_input_of(made), most=30):
        if each.made == "call" and each.last in ("view", "reshape") and len(each.args) == 2:
            return True
        if each.made == "call" and each.last in ("flatten", "Flatten", "BatchNorm1d", "BatchNorm2d"):
            return True
    return False


def _is_judged(flow: Flow, given: Value) -> bool:
    """Whether the classes are looked for on another axis: `output.argmax(1)`."""
    for event in flow.named("argmax", "max", "topk"):
        subject = event.subject if event.subject is not None and event.subject.made != "imported" else None
        value = event.value
        of = subject or value.argument(0, "input")
        dim = value.argument(0 if subject is not None else 1, "dim")
        if of is not None and plain(of) is plain(given) and dim is not None and dim.constant in (1, -1):
            return True
    return False
