"""The loss of each example of a skipped step, and its worst examples with their place in the corpora."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from trimtab.build import Parts
from trimtab.errors import InputError
from trimtab.finding import Finding
from trimtab.guard.outlier import NORMAL_MAD, deviation, median
from trimtab.run_findings.steps import WORST_EXAMPLES
from trimtab.tasks.task import ExampleLosses
from trimtab.types import GlobalBatch

MOST = 16
"""Examples of a window that are reported at most."""
DEVIATIONS = 6.0
"""An example stands out where its loss per target is so many deviations above the window's median."""
LEAST_DEVIATION = 0.05
"""A deviation counts at least as this share of the median."""
MOST_OF_IT, FEWER_DEVIATIONS = 0.5, 2.0
"""So does one that holds that share of what the loss of the window lies above its median, where it is above it by so
many deviations: among a dozen examples one long broken line widens the deviation itself."""
LONGEST_TEXT = 2000
"""Characters of a text that `quarantine.jsonl` has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectExample:
    """One example of a window that was refused."""

    step: int
    """The step whose window it was, counted from 1."""
    corpus: str
    line: int
    """Counted from 1."""
    place: str
    """File and line, where the corpus has files with lines."""
    source: str
    target: str
    """Both as the corpus has them; empty if it can no longer be read."""
    loss: float
    """Nats per target, without dropout, smoothing or truncation."""
    targets: int
    """Targets that count in the loss."""
    stands_out: bool
    """Whether it is not finite or far above the others, rather than only the largest."""
    reason: str

    def to_dict(self, *, code: str) -> dict[str, Any]:
        """The line of `quarantine.jsonl`; `code` is that of the refusal, such as S902. Long texts are cut."""
        return {
            "step": self.step,
            "corpus": self.corpus,
            "line": self.line,
            "place": self.place,
            "source": self.source[:LONGEST_TEXT],
            "target": self.target[:LONGEST_TEXT],
            "source_characters": len(self.source),
            "target_characters": len(self.target),
            "loss": self.loss,
            "targets": self.targets,
            "reason": self.reason,
            "code": code,
        }


def suspect_examples(parts: Parts, window: GlobalBatch, *, step: int) -> list[SuspectExample]:
    """The examples that stand out of a window by the present weights, at most 16, and at least the worst one.

    First those whose loss is not finite, then by how much of the window's loss lies above what the median example of
    their length would have. Changes neither weights nor gradients nor any random state; takes about as long as a
    forward pass.
    """
    losses = example_losses(parts, window)
    finite = np.isfinite(losses.loss)
    if not finite.any():
        reason = f"the loss of each of the {len(finite)} examples is not finite: the weights are at fault, no line is"
        return [_suspect(parts, window, losses, 0, step=step, reason=reason, stands_out=False)]
    known = losses.loss[finite].tolist()
    middle = median(known)
    spread = max(NORMAL_MAD * deviation(known), LEAST_DEVIATION * abs(middle))
    excess = np.where(finite, (losses.loss - middle) * losses.targets, np.inf)
    outlying = ~finite | (losses.loss > middle + DEVIATIONS * spread)
    above = np.where(finite & (excess > 0), excess, 0.0)
    outlying |= (above > MOST_OF_IT * above.sum()) & (losses.loss > middle + FEWER_DEVIATIONS * spread)
    worst = [number for number in np.argsort(-excess, kind="stable").tolist() if outlying[number]][:MOST]
    stands_out, each_target = bool(worst), parts.recipe.facts.each_target
    suspects: list[SuspectExample] = []
    for number in worst or [int(np.argmax(excess))]:
        found = float(losses.loss[number])
        reason = f"loss {found:.3g} {each_target}, the median of the window's {len(finite)} examples is {middle:.3g}"
        reason = reason if finite[number] else "its loss is not finite, that of other examples is"
        reason += "" if stands_out else ": the largest share of the loss, but no outlier"
        suspects.append(
            _suspect(parts, window, losses, number, step=step, reason=reason, stands_out=stands_out)
        )
    return suspects


def example_losses(parts: Parts, window: GlobalBatch) -> ExampleLosses:
    """The loss of each example by the present weights, without dropout, smoothing or truncation."""
    if parts.placed is not None:
        parts.placed.refresh()
    if parts.sharding is not None:
        whole = parts.sharding.plain_copy(parts.model, dtype=parts.evaluation_model.dtype)
        parts = replace(parts, model=whole, sharding=None)
    model, was_training = parts.model, parts.model.training
    model.eval()
    try:
        # Compiled once more for evaluation it would take longer than it runs.
        with torch.compiler.set_stance("force_eager"):
            return parts.task.example_losses(parts, window)
    finally:
        model.train(was_training)


def worst_examples(suspects: Sequence[SuspectExample]) -> Finding:
    """Says which lines they are; `suspects` are what `suspect_examples` gave."""
    first, others = suspects[0], len(suspects) - 1
    more = f" and {others} more" if others else ""
    said = (
        f"{first.corpus} line {first.line}{more} stand{'' if others else 's'} out: "
        if first.stands_out
        else f"no example stands out; {first.corpus} line {first.line}: "
    )
    return WORST_EXAMPLES.found(
        f"step {first.step}: {said}{first.reason}",
        fix=f"read them in quarantine.jsonl; `trimtab replay RUN --step {first.step}` says whether data or state is at "
        "fault",
        where=first.place,
    )


def _suspect(
    parts: Parts,
    window: GlobalBatch,
    losses: ExampleLosses,
    number: int,
    *,
    step: int,
    reason: str,
    stands_out: bool,
) -> SuspectExample:
    corpus, line = parts.datasets.corpora[int(window.corpus[number])], int(window.line[number])
    try:
        source, target = corpus.pair(line)
    except (InputError, OSError) as error:
        # The run continues from what it has read; a file that was taken away meanwhile must not end it here.
        source = target = ""
        reason += f"; it cannot be read any more ({str(error).splitlines()[0]})"
    return SuspectExample(
        step=step,
        corpus=corpus.name,
        line=line + 1,
        place=corpus.place(line),
        source=source,
        target=target,
        loss=float(losses.loss[number]),
        targets=int(losses.targets[number]),
        stands_out=stands_out,
        reason=reason,
    )
