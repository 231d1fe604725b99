"""P307 compiled-for-one-length"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.trainers import configuration, trainers
from trimtab.checks.read.flow.values import Flow, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\nfrom torch.nn.utils.rnn import pad_sequence\nfrom torch.utils.data import DataLoader\n"
    "model = torch.compile(model, dynamic={dynamic})\ncollate = lambda rows: pad_sequence(rows, batch_first=True)\n"
    "loader = DataLoader(data, batch_size=32, collate_fn=collate)\n"
)

RULE = Rule(
    code="P307",
    name="compiled-for-one-length",
    severity="note",
    message="the model is compiled, and each batch is as long as its longest text: many lengths, many compilations",
    why="A graph is made for the shapes that it sees. With every new length it is compiled again, for seconds to "
    "minutes, and "
    "after eight times torch gives up and runs the function without compiling.",
    evidence=(
        Maintainer(
            "https://docs.pytorch.org/docs/2.13/generated/torch.compile.html",
            "'torch._dynamo.config.recompile_limit, which defaults to 8; at which point we will fall back to eager'.",
        ),
        Maintainer(
            "https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html",
            "'Make sure that the dynamic option of torch.compile is not set to False.' The default tries dynamic "
            "shapes after the first compilation.",
        ),
    ),
    fix=Fix(
        "pad to a few lengths (`pad_to_multiple_of=128`), or compile with `dynamic=True`",
        safety="same training",
    ),
    bad=Example("train.py", _SCRIPT.format(dynamic=False)),
    good=Example("train.py", _SCRIPT.format(dynamic=True)),
    symptoms=(
        "training is slow",
        "recompile_limit reached",
        "torch._dynamo hit config.recompile_limit",
        "torch.compile compiles again for every batch",
    ),
)
_COLLATORS = ("DataCollatorForLanguageModeling", "DataCollatorForSeq2Seq", "DataCollatorWithPadding")


def check(run: Description) -> Iterator[Diagnosis]:
    """`dynamic=False` over a loader that pads each batch by itself, and `torch_compile` of a Trainer over its
    collators."""
    flow = flow_of(run.document)
    for event in flow.named("compile"):
        dynamic = event.value.keywords.get("dynamic")
        if (
            event.value.name == "torch.compile"
            and dynamic is not None
            and dynamic.constant is False
            and _pads(flow)
        ):
            yield RULE.at(event.place)
    for trainer in trainers(run):
        made, collator = configuration(trainer.value), trainer.value.keywords.get("data_collator")
        compiles = made.keywords.get("torch_compile") if made is not None else None
        if (
            compiles is None
            or compiles.constant is not True
            or collator is None
            or collator.last not in _COLLATORS
        ):
            continue
        if (
            "pad_to_multiple_of" not in collator.keywords
            and "max_length" not in run.document.text
            and not _is_packed(run)
        ):
            yield RULE.at(trainer.place)


def _is_packed(run: Description) -> bool:
    return "group_texts" in run.document.text or run.value("packing") is True


def _pads(flow: Flow) -> bool:
    """Whether a loader's own function pads, and to no fixed length."""
    given = [
        event.value.keywords["collate_fn"]
        for event in flow.named("DataLoader")
        if "collate_fn" in event.value.keywords
    ]
    inside = {id(value.node) for value in given if value.made == "function"}
    return any(_is_inside(event.path, inside) for event in flow.named("pad_sequence")) or any(
        value.made == "function" and _names(value) for value in given
    )


def _is_inside(path: tuple[object, ...], nodes: set[int]) -> bool:
    values = (getattr(block, "value", None) for block in path)
    return any(value is not None and id(value.node) in nodes for value in values)


def _names(function: Value) -> bool:
    import ast

    return any(
        isinstance(part, ast.Name | ast.Attribute)
        and getattr(part, "id", getattr(part, "attr", "")) == "pad_sequence"
        for part in ast.walk(function.node)
    )
