"""Measures weights on the validation sets of a run: the loss of each set, and the run's own measure of its best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from trimtab.averaging.members import Member
from trimtab.config.run import LOWER_IS_BETTER, OF_TRANSLATIONS, Metric
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpus
from trimtab.decode.search import Search
from trimtab.errors import input_error
from trimtab.evaluation import reference_loss
from trimtab.scoring.scores import Score, bleu, chrf, ter
from trimtab.training.validate import spread
from trimtab.translator import LoadedModel, load_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one set of weights is worth."""

    losses: dict[str, float | None]
    """Nats per target token by validation set; None where no pair of it fits."""
    score: float | None
    """The measure that is compared."""


def check_metric(member: Member, metric: Metric | None) -> None:
    """InputError for a measure of translations where the model, or its validation sets, are of texts alone."""
    recipe, texts = member.recipe, _of_texts(member)
    if metric in OF_TRANSLATIONS and (texts or not recipe.translates):
        raise input_error(
            f"--metric {metric}: is of translations",
            got=f"{member.label}, a language model of texts"
            if not recipe.translates
            else f"the validation texts {', '.join(texts)} of {member.label}",
            allowed="a model with validation sets of source and target",
            fix="leave --metric out, then score DIR and the run alike: trimtab evaluate DIR --text FILE",
        )


@dataclass(slots=True)
class Gauge:
    """The validation sets, opened, and a model to put weights into."""

    model: LoadedModel
    metric: Metric
    chosen: str
    """Name of the set that is translated and compared."""
    sets: dict[str, Corpus]
    signature: str = field(default="", init=False)
    """How the measure was computed; known after the first one."""

    @classmethod
    def of(cls, member: Member, *, metric: Metric | None) -> "Gauge":
        """By the recipe of one member, whose `evaluate.best` says what is compared where `metric` does not.

        Raises InputError where there is no validation set, where one is of texts, or one cannot be read.
        """
        recipe = member.recipe
        if texts := _of_texts(member):
            raise input_error(
                f"{member.label}: a language model, whose validation texts are not measured here",
                got=f"{', '.join(texts)} of texts",
                allowed="validation sets of source and target",
                fix="without --soup the mean is made all the same; score it and the run alike: "
                "trimtab evaluate DIR --text FILE",
            )
        if not recipe.data.valid:
            raise input_error(
                f"{member.label}: its recipe has no validation set",
                fix="score the result yourself: trimtab evaluate DIR "
                + ("--source FILE --reference FILE" if recipe.translates else "--text FILE"),
            )
        sets = {
            name: open_corpus(files, root=Path.cwd(), cache=default_cache())
            for name, files in recipe.data.valid.items()
        }
        best = recipe.evaluate.best
        chosen = metric or best.metric
        # What else there is, such as perplexity, is a function of the loss.
        measure: Metric = chosen if chosen in OF_TRANSLATIONS else "loss"
        return cls(load_model(member.label), measure, best.set or next(iter(sets)), sets)

    @property
    def lower_is_better(self) -> bool:
        """Of the measure."""
        return self.metric in LOWER_IS_BETTER

    @property
    def lines(self) -> int:
        """How many lines the measure stands on."""
        count = len(self.sets[self.chosen])
        return count if self.metric == "loss" else len(spread(count, self.model.recipe.evaluate.lines))

    @property
    def how(self) -> str:
        """How the measure is made, for people."""
        lines, beam = f"{self.lines} lines", self.model.recipe.evaluate.beam
        return lines if self.metric == "loss" else f"{lines}, beam {beam}"

    @torch.inference_mode()
    def measure(self, weights: Mapping[str, Tensor]) -> Measured:
        """What these weights are worth; NaN where they give no finite loss, and nothing is translated then."""
        self.model.model.load_state_dict(weights)
        losses = {name: self._loss(corpus) for name, corpus in self.sets.items()}
        score = losses[self.chosen]
        if self.metric != "loss" and (score is None or math.isfinite(score)):
            score = self._translated()
        return Measured(losses=losses, score=score)

    def holds(self, score: float | None, other: float | None) -> bool:
        """Whether a score is not worse than another; what is no number is worse than any that is."""
        if score is None or not math.isfinite(score):
            return False
        return other is None or not math.isfinite(other) or self.gain(over=other, score=score) >= 0

    def gain(self, *, over: float, score: float) -> float:
        """By how much a score is better than another."""
        return over - score if self.lower_is_better else score - over

    def _loss(self, corpus: Corpus) -> float | None:
        pairs = [corpus.pair(line) for line in range(len(corpus))]
        sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return reference_loss(self.model, sources, references, tags=corpus.tags)

    def _translated(self) -> float:
        corpus, config = self.sets[self.chosen], self.model.recipe.evaluate
        pairs = [corpus.pair(line) for line in spread(len(corpus), config.lines)]
        translator = self.model.translator(search=Search(beam=config.beam), tags=corpus.tags)
        outputs = translator.translate([pair[0] for pair in pairs])
        score = self._score(outputs, [pair[1] for pair in pairs])
        self.signature = score.signature
        return score.value

    def _score(self, outputs: list[str], references: list[str]) -> Score:
        cut = self.model.recipe.data.valid[self.chosen].bleu_tokenizer
        of = {"bleu": partial(bleu, tokenize=cut), "chrf": chrf, "ter": ter}
        return of[self.metric](outputs, references)


def _of_texts(member: Member) -> list[str]:
    """Names of its validation sets that have no two sides."""
    return [name for name, files in member.recipe.data.valid.items() if files.text is not None]
