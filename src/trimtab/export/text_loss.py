"""How far the translations of a quantised export are from those of the trainer, in points and lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLoss:
    """Scores of the export's text against the trainer's, and of both against the references."""

    bleu: float
    """Of the export's text with the trainer's as the reference; 100 where they are the same."""
    chrf: float
    changed: float
    """Share of the lines that differ, 0 to 1."""
    bleu_before: float
    """Of the trainer's text, against the references."""
    bleu_after: float
    """Of the export's text, against the references."""
    chrf_before: float
    chrf_after: float
    most: float
    """The most points of chrF that may be lost against the trainer's text."""

    @property
    def is_within(self) -> bool:
        """Whether the loss is within what was stated."""
        return 100 - self.chrf <= self.most

    def render(self) -> list[str]:
        """Lines for people."""
        return [
            f"against the trainer's text: BLEU {self.bleu:.1f}, chrF {self.chrf:.1f} (at least {100 - self.most:.1f}); "
            f"{100 * self.changed:.1f}% of the lines changed",
            f"against the references: BLEU {self.bleu_before:.1f} of the trainer, {self.bleu_after:.1f} of the export; "
            f"chrF {self.chrf_before:.1f} and {self.chrf_after:.1f}",
        ]


def text_loss(
    ours: Sequence[str], theirs: Sequence[str], *, references: Sequence[str], most: float
) -> TextLoss:
    """The loss of the export's translations, `theirs`, against the trainer's, `ours`, line by line."""
    same = list(ours) == list(theirs)
    return TextLoss(
        # A text of nothing but short lines has no n-grams of four words and no BLEU of 100 with itself.
        bleu=100.0 if same else bleu(theirs, ours).value,
        chrf=100.0 if same else chrf(theirs, ours).value,
        changed=sum(one != other for one, other in zip(ours, theirs, strict=True)) / len(ours),
        bleu_before=bleu(ours, references).value,
        bleu_after=bleu(theirs, references).value,
        chrf_before=chrf(ours, references).value,
        chrf_after=chrf(theirs, references).value,
        most=most,
    )
