"""Which scores an evaluation gives beside BLEU and chrF, and how BLEU cuts words."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.config.bleu import BleuTokenizer
from trimtab.scoring.comet import comet_score, import_comet
from trimtab.scoring.scores import Score, bleu_metric, ter


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What an evaluation measures."""

    bleu_tokenizer: BleuTokenizer = "13a"
    """Languages without spaces need one of their own."""
    ter: bool = False
    """TER too: slow for long lines."""
    comet: str | None = None
    """A COMET model to score with: a checkpoint file, the folder of a model, or a name on the hub."""

    def check(self) -> None:
        """InputError for a library that is missing: told before the work."""
        bleu_metric(self.bleu_tokenizer)
        if self.comet is not None:
            import_comet()

    def more(
        self, translations: Sequence[str], *, sources: Sequence[str], references: Sequence[str], gpus: int = 0
    ) -> list[Score]:
        """What is asked for beside BLEU and chrF."""
        scores = [ter(translations, references)] if self.ter else []
        if self.comet is not None:
            scores.append(
                comet_score(self.comet, translations, sources=sources, references=references, gpus=gpus)
            )
        return scores
