"""Findings that several tasks share: what an example may depend on, dropped examples, and a loss that is not finite."""

from collections.abc import Iterator

from trimtab.data.ledger import NamesFiles
from trimtab.finding import Finding
from trimtab.run_findings.built_parts import (
    EXAMPLE_DIFFERS_ALONE,
    EXAMPLES_SEE_EACH_OTHER,
    INPUT_WITHOUT_EFFECT,
)
from trimtab.run_findings.data import EXAMPLES_DROPPED
from trimtab.run_findings.evaluations import EVALUATION_NOT_FINITE
from trimtab.tasks.examples import Checked

UNSEEN = {"fp32": 1e-5, "tf32": 5e-4, "bf16_mixed": 2e-3, "fp16_mixed": 5e-4, "bf16": 2e-3}
"""How much a vector may change, of its size, by what it must not see; a leak gives some per cent."""
SEEN = 1e-6
"""How much it must change at least by what it must see; an untrained model gives some per cent."""
ALONE = {"fp32": 1e-4, "tf32": 1e-2, "bf16_mixed": 3e-2, "fp16_mixed": 1e-2, "bf16": 3e-2}
"""How much it may differ in a pack of other size, where sums are made in another order."""
DROPPED_WARNING, DROPPED_ERROR = 0.05, 0.5


def others_seen(share: float, *, bound: float) -> Iterator[Finding]:
    """A finding where one example changed another of the same pack."""
    if not share <= bound:
        yield EXAMPLES_SEE_EACH_OTHER.found(
            f"with other tokens in one example, the others of its pack change by {share:.2g} of their size "
            f"(bound {bound:g})"
        )


def not_seen(what: str, share: float) -> Iterator[Finding]:
    """A finding where something that must matter does not."""
    if not share > SEEN:
        yield INPUT_WITHOUT_EFFECT.found(f"the prediction for a target token does not depend on the {what}")


def differs_alone(share: float, *, bound: float, targets: int, others: int) -> Iterator[Finding]:
    """A finding where an example is not alone what it is beside others."""
    if not share <= bound:
        yield EXAMPLE_DIFFERS_ALONE.found(
            f"an example of {targets} target tokens differs alone by {share:.2g} of its size from "
            f"what it is beside {others} others (bound {bound:g})"
        )


def dropped_examples(parts: Checked, *, fix: str) -> Iterator[Finding]:
    """The share of examples that are not trained on."""
    sample = parts.datasets.sample
    reasons = [example.reason for example in sample.dropped]
    share = len(reasons) / max(1, sample.seen)
    if share > DROPPED_WARNING:
        counted = ", ".join(
            f"{reason} {reasons.count(reason) / sample.seen:.1%}" for reason in sorted(set(reasons))
        )
        first = sample.dropped[0]
        corpus = parts.datasets.corpora[first.corpus]
        file = corpus.file_of(first.line) if isinstance(corpus, NamesFiles) else ""
        yield EXAMPLES_DROPPED.found(
            f"{share:.1%} of the first {sample.seen} examples are dropped: {counted}"
            + (f"; the first is {file} ({first.reason})" if file else ""),
            severity="error" if share > DROPPED_ERROR else "warning",
            fix=fix,
        )


def loss_not_finite(name: str, loss: float, *, consequence: str) -> Finding:
    """The model gives no number for a validation set; `consequence` says what was not done therefore."""
    return EVALUATION_NOT_FINITE.found(f"the loss of the validation set {name} is {loss:g}{consequence}")
