"""S142 accumulation-longer-than-epoch"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import lightning as L\ntrainer = L.Trainer(max_epochs=4, limit_train_batches={batches}, "
    "accumulate_grad_batches=8)\n"
    "trainer.fit(model, loader)\n"
)

RULE = Rule(
    code="S142",
    name="accumulation-longer-than-epoch",
    severity="warning",
    message="an epoch has {batches} batches, and {accumulation} are accumulated: each step has fewer than it is "
    "divided by",
    why="Lightning steps at the end of an epoch with what has come together, and divides each loss by "
    "`accumulate_grad_batches` anyway: every step is smaller than it should be.",
    evidence=(
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/issues/21808",
            "'When a training epoch contains fewer batches than `accumulate_grad_batches`, gradient accumulation is "
            "silently disabled': Lightning steps on the last batch of an epoch.",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/issues/19987",
            "'the gradients are scaled by accumulate_grad_batches instead of the actual number of accumulations'.",
        ),
        Arithmetic(
            "With k batches an epoch and n > k accumulated, each mean is divided by n: the gradient is k/n of what it "
            "should be, and there is one update an epoch or none."
        ),
    ),
    fix=Fix("accumulate at most {batches} batches"),
    bad=Example("train.py", _SCRIPT.format(batches=3)),
    good=Example("train.py", _SCRIPT.format(batches=80)),
    symptoms=("loss falls slowly",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Both numbers as written in one call."""
    if not run.document.imports & {"lightning", "pytorch_lightning"}:
        return
    for call in calls_of(run, "Trainer"):
        batches, accumulation = literal(call, "limit_train_batches"), literal(call, "accumulate_grad_batches")
        if type(batches) is int and type(accumulation) is int and 0 < batches < accumulation:
            yield RULE.at(call.place, batches=batches, accumulation=accumulation)
