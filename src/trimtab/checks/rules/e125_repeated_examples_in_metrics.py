"""E125 repeated-examples-in-metrics"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, is_accelerator
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import innermost_loop
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="E125",
    name="repeated-examples-in-metrics",
    severity="warning",
    message="`gather` keeps the repeated examples that fill up the last batch: they count twice in the metric",
    why="A prepared loader repeats examples until every process has a batch of the same size. "
    "`gather_for_metrics` drops those repeats, `gather` does not.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py",
            "gather_for_metrics: 'Gathers `input_data` and potentially drops duplicates in the last batch "
            "if on a distributed system. Should be used for gathering the inputs and targets for metric "
            "calculation.'",
        ),
        Arithmetic(
            "With 1,001 examples, 4 processes and batches of 8, the last round has room for 32 examples and 9 "
            "are left: 23 count twice."
        ),
    ),
    fix=Fix("call `accelerator.gather_for_metrics`"),
    bad=Example(
        "train.py",
        "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model, loader = accelerator.prepare(model, loader)\nmodel.eval()\nright = []\nfor batch in loader:\n"
        "    with torch.no_grad():\n        predictions = model(**batch).logits.argmax(-1)\n"
        "    right.append(accelerator.gather(predictions) == accelerator.gather(batch['labels']))\n",
    ),
    good=Example(
        "train.py",
        "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model, loader = accelerator.prepare(model, loader)\nmodel.eval()\nright = []\nfor batch in loader:\n"
        "    with torch.no_grad():\n        predictions = model(**batch).logits.argmax(-1)\n"
        "    right.append(accelerator.gather_for_metrics(predictions) == "
        "accelerator.gather_for_metrics(batch['labels']))\n",
    ),
    symptoms=("metrics differ with the number of GPUs", "accuracy is slightly off on several GPUs"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Predictions or labels that an Accelerator gathers in a loop without a backward pass, and that nothing cuts to the
    length of the dataset; losses are gathered to be averaged, and sizes to be summed."""
    if not accelerators(run.document) or says(
        run.document, "gather_for_metrics", "[: len(", "[:len(", "remainder"
    ):
        return
    flow = flow_of(run.document)
    for event in flow.named("gather"):
        loop, given = innermost_loop(event), event.value.argument(0, "tensor")
        if (
            loop is None
            or given is None
            or not is_accelerator(event.subject)
            or not without_gradients_around(event, flow)
        ):
            continue
        if any(_is_predicted(each) for each in walk(given, most=12)):
            yield RULE.at(event.place)
            return


def without_gradients_around(event: Event, flow: Flow) -> bool:
    """Whether nothing goes backward in the loop around."""
    loop = innermost_loop(event)
    return loop is not None and not any(each.name == "backward" for each in flow.inside(loop))


def _is_predicted(value: Value) -> bool:
    return value.name in ("argmax", "logits") or (
        value.made == "item" and bool(value.args) and value.args[0].constant == "labels"
    )
