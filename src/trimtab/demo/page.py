"""What the demo says at its end."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from trimtab.metrics.metric import Score

EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """A trained translator beside two baselines on the same held-out lines."""

    run: Path
    seconds: float
    """From the start of the command."""
    training_seconds: float
    parameters: int
    pairs: list[tuple[str, str, str]]
    """Source, translation, reference of each held-out line."""
    scores: dict[str, tuple[Score, Score]]
    """BLEU and chrF by system."""

    @property
    def page(self) -> Path:
        """Where the report of the run is, for a browser."""
        return self.run / "report.html"

    def render(self) -> str:
        """The report as text: examples, scores, where the run is."""
        return "\n".join([*self.examples(), "", *self.table(), "", *self.ending()])

    def examples(self) -> list[str]:
        """Ten lines, evenly spread, with their references."""
        lines = []
        count = min(EXAMPLES, len(self.pairs))
        for i in range(count):
            source, translation, reference = self.pairs[i * len(self.pairs) // count]
            lines += [
                "",
                f"  source      {source}",
                f"  translation {translation}",
                f"  reference   {reference}",
            ]
        return lines

    def table(self) -> list[str]:
        """BLEU and chrF of each system, and their signatures."""
        rows = [f"{len(self.pairs)} held-out lines       BLEU   chrF"]
        rows += [f"  {name:<22}{b.value:6.1f} {c.value:6.1f}" for name, (b, c) in self.scores.items()]
        first_bleu, first_chrf = next(iter(self.scores.values()))
        return [*rows, f"  BLEU {first_bleu.signature}", f"  chrF {first_chrf.signature}"]

    def ending(self) -> list[str]:
        """How long it took and what to do next."""
        return [
            f"{self.parameters / 1e6:.1f}M parameters, {self.training_seconds:.0f} s of training, "
            f"{self.seconds:.0f} s in all",
            f"open {self.page} in a browser to see curves, samples and findings",
            f"the run is in {self.run}; try",
            f"  echo 'Opens a dialog to insert a table.' | trimtab translate {quote(str(self.run))}",
        ]
