"""S145 short-last-window"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import lightning as L\nfrom torch.utils.data import DataLoader\n"
    "loader = DataLoader(data, batch_size=8, shuffle=True{last})\n"
    "trainer = L.Trainer(max_epochs=3, accumulate_grad_batches=4)\ntrainer.fit(model, loader)\n"
)

RULE = Rule(
    code="S145",
    name="short-last-window",
    severity="note",
    message="the last accumulated step of an epoch may have fewer than {size} batches and is still divided by "
    "{size}",
    why="Lightning divides each loss by `accumulate_grad_batches` and steps at the end of an epoch with what there is. "
    "A step of one batch then has a quarter of its gradient, and Adam takes it as a full one.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/issues/19987",
            "'the gradients are scaled by accumulate_grad_batches instead of the actual number of accumulations'.",
        ),
        Arithmetic("Of an epoch of 4 k + 1 batches the last step has one loss divided by 4."),
    ),
    fix=Fix(
        "make the number of batches a multiple of {size} (`drop_last=True` for the batch, a sampler that drops the "
        "rest), or divide by what is left in a loop of your own"
    ),
    bad=Example("train.py", _SCRIPT.format(last="")),
    good=Example(
        "train.py", _SCRIPT.format(last="").replace("accumulate_grad_batches=4", "accumulate_grad_batches=1")
    ),
    symptoms=("loss is noisy at the end of an epoch", "accumulation trains worse than a large batch"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Lightning's Trainer with a written accumulation over several epochs, in a script that limits no batches."""
    flow = flow_of(run.document)
    for event in flow.named("Trainer"):
        made = event.value
        size = made.keywords.get("accumulate_grad_batches")
        if not made.name.startswith(("lightning.", "pytorch_lightning.")) or made.has_rest or size is None:
            continue
        is_several = type(size.constant) is int and size.constant > 1
        if is_several and not _is_bounded(made) and _is_fitted(flow, made):
            yield RULE.at(event.place, size=size.constant)


def _is_bounded(trainer: Value) -> bool:
    """Whether the number of batches is limited, or the run ends within one epoch by its steps alone."""
    return "limit_train_batches" in trainer.keywords or "overfit_batches" in trainer.keywords


def _is_fitted(flow: Flow, trainer: Value) -> bool:
    return any(any(each is trainer for each in walk(event.subject, most=3)) for event in flow.named("fit"))
