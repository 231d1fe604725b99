"""S143 accumulated-loss-not-divided"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import accelerators, takes_loss
from trimtab.checks.read.flow.loops import Loop, is_step, stepped, training_loops
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import is_model, loaded_class, options, root
from trimtab.checks.read.flow.values import Event, Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import torch\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor i, (x, y) in enumerate(loader):\n"
    "    loss = torch.nn.functional.cross_entropy(model(x), y){division}\n    loss.backward()\n"
    "    if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"
)

RULE = Rule(
    code="S143",
    name="accumulated-loss-not-divided",
    severity="warning",
    message="mean losses of several micro-batches are added up and never divided: the gradient grows with the "
    "accumulation",
    why="Each backward pass adds the gradient of a mean. The sum of n of them is n times the gradient of one "
    "large batch: "
    "SGD steps n times as far, and a clipping threshold is met n times as early. Adam takes the factor out again, but "
    "for its epsilon and for clipping.",
    evidence=(
        Arithmetic("Four means of 1.0 make a gradient of 4.0, one batch of all their examples one of 1.0."),
        Maintainer(
            "https://github.com/highwaterlabs/torch-preflight",
            "TG014 of torch-preflight names the same; dividing by tokens is better where lengths differ (S128).",
            opened=False,
        ),
    ),
    fix=Fix(
        "divide by the number of micro-batches, or by the targets of the whole step where lengths differ"
    ),
    bad=Example("train.py", _SCRIPT.format(division="")),
    good=Example("train.py", _SCRIPT.format(division=" / 4")),
    symptoms=(
        "loss grows with gradient accumulation",
        "diverged",
        "every step is clipped",
        "loss is multiplied by the number of accumulation steps",
        "gradient norm depends on accumulation steps",
    ),
)
_CRITERIA = frozenset({"criterion", "loss_fn", "loss_function", "loss_func", "criterion_ce", "ce_loss"})
_COUNTING = frozenset({"accelerate", "deepspeed", "lightning", "pytorch_lightning", "lightning_fabric"})
_COUNTS = ("accum", "micro_step", "micro_batch", "microbatch", "n_micro", "num_micro", "update_freq")
_ADAPTIVE = ("Adam", "Adafactor", "Lion", "RMSprop", "Adagrad")


def check(run: Description) -> Iterator[Diagnosis]:
    """A loop that steps every so many turns, or an inner loop over the micro-batches of a step, and a loss that is seen
    to be a mean and goes into `backward` as it is."""
    flow = flow_of(run.document)
    if says(run.document, "num_items_in_batch", ".div_(", "grad.mul_") or _counts(run):
        return
    for loop in training_loops(flow):
        inner = _loss(_given(loop.backward)) if _is_inner(loop, flow) else None
        if inner is not None and (_is_untouched(inner) or _is_mean(inner, flow)):
            yield RULE.at(loop.backward.place, severity="note" if _is_hidden_by_adam(loop, flow) else None)
            return
        steps = list(loop.steps())
        if (
            not steps
            or not all(loop.is_within_period(step) for step in steps)
            or loop.is_within_period(loop.backward)
        ):
            continue
        if not _is_cleared_in_period(loop) or not _is_mean(_loss(_given(loop.backward)), flow):
            continue
        optimizer = stepped(steps[0])
        is_adaptive = any(each.last.startswith(_ADAPTIVE) for each in options(optimizer))
        clips = any(True for _ in loop.called("clip_grad_norm_", "clip_grad_value_"))
        yield RULE.at(loop.backward.place, severity="note" if is_adaptive and not clips else None)
        return


def _counts(run: Description) -> bool:
    """Whether a library divides by itself: Accelerate does where it is made for more than one micro-batch."""
    if run.document.imports & (_COUNTING - {"accelerate"}):
        return not any(True for _ in flow_of(run.document).named("Fabric"))  # its loops are written by hand
    if "accelerate" not in run.document.imports:
        return False
    made = accelerators(run.document)
    names = ("gradient_accumulation_steps", "gradient_accumulation_plugin")
    return len(made) != 1 or len(made[0].args) > 3 or any(name in made[0].keywords for name in names)


def _given(backward: Event) -> Value | None:
    """The loss: what `backward` is a method of, or what an Accelerator's is given."""
    return backward.value.argument(0, "loss") if takes_loss(backward.subject) else backward.subject


def _is_inner(loop: Loop, flow: Flow) -> bool:
    """Whether a loop goes over the micro-batches of one step: `for _ in range(accumulation)`, and the "
    "step behind it."""
    over = loop.block.value
    if over is None or over.last != "range" or any(True for _ in loop.steps()):
        return False
    counts = [
        each
        for each in walk(over, most=8)
        if any(word in (each.label or each.name).lower() for word in _COUNTS)
    ]
    at = loop.backward.path.index(loop.block)
    around = loop.backward.path[:at]
    later = [event for event in flow.named("step") if event.index > loop.events[-1].index and is_step(event)]
    return bool(counts) and any(event.path[: len(around)] == around for event in later)


def _is_untouched(loss: Value | None) -> bool:
    """Whether a loss goes backward as a model, or a loss of torch's with its default, gave it."""
    while loss is not None and loss.made == "item" and loss.of is not None:
        loss = loss.of
    if loss is None:
        return False
    if loss.made == "attribute" and loss.name == "loss":
        loss = loss.of
    if loss is None or loss.made != "call" or "<returned>" in loss.fields:
        return (
            loss is not None and loss.made == "call" and not _is_divided_inside(loss.fields.get("<returned>"))
        )
    return is_model(loss.of) or (loss.of is not None and loss.name.endswith(("model", "net", "network")))


def _is_divided_inside(value: Value | None) -> bool:
    return any(
        (each.made == "binary" and each.name in ("/", "*", "//")) or "reduction" in each.keywords
        for each in walk(value, most=60)
    )


def _is_hidden_by_adam(loop: Loop, flow: Flow) -> bool:
    """Adam takes a constant factor out again, but for clipping and its epsilon."""
    steps = [event for event in flow.named("step") if event.index > loop.backward.index and is_step(event)]
    made = [each for step in steps for each in options(stepped(step))]
    return (
        bool(made)
        and all(each.last.startswith(_ADAPTIVE) for each in made)
        and not any(True for _ in flow.named("clip_grad_norm_", "clip_grad_value_"))
    )


def _is_cleared_in_period(loop: Loop) -> bool:
    clears = list(loop.called("zero_grad"))
    return bool(clears) and all(loop.is_within_period(event) for event in clears)


def _loss(value: Value | None) -> Value | None:
    """What is given to `scaler.scale` or to `backward` itself."""
    if value is not None and value.made == "call" and value.name == "scale" and value.args:
        return value.args[0]
    return value


def _is_mean(value: Value | None, flow: Flow) -> bool:
    if value is None:
        return False
    for loss in cross_entropies(flow):
        if loss.event.value is value:
            return loss.is_mean
    if value.made == "call" and "return_type" in value.keywords:
        return value.keywords["return_type"].constant == "loss"  # of TransformerLens
    if value.made == "call" and value.name == "__call__" and value.of is not None:
        # A loss that the function is given; what else than a mean it gives back would be said in its name.
        of = value.of
        return of.made in ("parameter", "attribute") and (of.label or of.name) in _CRITERIA
    if value.made == "either":
        return all(_is_mean(each, flow) for each in value.args)
    if value.made == "call" and value.name == "mean" and value.of is not None and not value.args:
        return _is_mean(value.of, flow)
    is_first = value.made == "item" and bool(value.args) and value.args[0].constant == 0
    of = value.of if is_first or (value.made == "attribute" and value.name == "loss") else None
    if of is None or of.made != "call" or of.of is None:
        return False
    is_given_all = of.has_rest or "labels" in of.keywords  # as models of transformers are
    return "For" in loaded_class(root(of.of)) or (is_given_all and is_model(of.of))
