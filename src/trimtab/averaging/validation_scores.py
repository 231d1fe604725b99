"""Measures weights on the validation sets of a run: the loss of each set, and the run's own measure of its best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trimtab.averaging.members import Member
from trimtab.averaging.report import AVERAGE, AverageReport, Comparison
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.run import Recipe
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, Passages, open_corpus
from trimtab.data.reference_rows import reference_rows
from trimtab.data.text_rows import passage_bytes
from trimtab.data.valid_set import spread
from trimtab.decode.search import Search
from trimtab.errors import input_error
from trimtab.evaluation.texts import report_on_corpus
from trimtab.evaluation.translations import reference_loss
from trimtab.inference import LoadedModel, load_model
from trimtab.inference.load import writes_nothing
from trimtab.metrics.catalogue import OF_THE_LOSS, OF_TRANSLATIONS, MetricName, metric_of, text_scores
from trimtab.metrics.metric import MetricSettings, Score, Translations


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationScores:
    """Of one set of weights."""

    losses: dict[str, float | None]
    """Nats per target token by validation set; None if no pair of it fits."""
    score: float | None
    """The measure that is compared."""
    perplexities: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Of a language model for each set what follows from its loss, by measure; empty for others."""


def check_metric(member: Member, metric: MetricName | None) -> None:
    """InputError for a measure of translations where the model, or the validation set that is compared, is of texts
    alone; and for one of language models where the model is none."""
    recipe = member.recipe
    texts = f"{member.label}, a language model of texts" if not recipe.translates else _of_texts(member)
    if metric in OF_TRANSLATIONS and texts:
        raise input_error(
            f"--metric {metric}: a metric of translations",
            got=texts,
            allowed=" or ".join(sorted({"loss", *OF_THE_LOSS})),
            fix="leave --metric out, or take one of these",
        )
    if metric in OF_THE_LOSS and not recipe.facts.scores_follow_from_the_loss:
        raise input_error(
            f"--metric {metric}: a metric of language models",
            got=f"{member.label}, a model that translates",
            allowed=" or ".join(sorted({"loss", *OF_TRANSLATIONS})),
            fix="leave --metric out, or take one of these",
        )


@dataclass(slots=True)
class ValidationScorer:
    """The validation sets, opened, and a model to put weights into."""

    model: LoadedModel
    metric: MetricName
    chosen: str
    """Name of the set that is compared."""
    sets: dict[str, Corpus]
    signature: str = field(default="", init=False)
    """How the measure was computed; known after the first one."""

    @classmethod
    def of(cls, member: Member, *, metric: MetricName | None) -> "ValidationScorer":
        """By the recipe of one member, whose `evaluate.best` says what is compared where `metric` does not.

        Raises InputError if there is no validation set, or one cannot be read.
        """
        recipe = member.recipe
        if not recipe.facts.writes_text:
            raise writes_nothing(recipe, RunFolder(member.checkpoint.run))
        if not recipe.data.valid:
            raise input_error(
                f"{member.label}: its recipe has no validation set",
                fix="score the result yourself: trimtab evaluate DIR "
                + ("--source FILE --reference FILE" if recipe.translates else "--text FILE"),
            )
        most = passage_bytes(recipe.data) if recipe.facts.one_row else None
        sets = {
            name: open_corpus(files, root=Path.cwd(), cache=default_cache(), passage_bytes=most)
            for name, files in recipe.data.valid.items()
        }
        return cls(load_model(member.label), metric or recipe.evaluate.best.metric, _chosen(recipe), sets)

    @property
    def lower_is_better(self) -> bool:
        """Of the measure."""
        return metric_of(self.metric).lower_is_better

    @property
    def how(self) -> str:
        """How the measure is made, for people: on how many lines or documents, with which beam."""
        corpus, config = self.sets[self.chosen], self.model.recipe.evaluate
        if isinstance(corpus.pairs, Passages):
            return f"{corpus.pairs.num_documents} documents"
        if self.metric not in OF_TRANSLATIONS:
            return f"{len(corpus)} lines"
        return f"{len(spread(len(corpus), config.lines))} lines, beam {config.beam}"

    @torch.inference_mode()
    def measure(self, weights: Mapping[str, Tensor]) -> ValidationScores:
        """The scores of these weights; NaN where they give no finite loss, and nothing is translated then."""
        self.model.model.load_state_dict(weights)
        found = {name: scores_of_set(self.model, corpus) for name, corpus in self.sets.items()}
        chosen = found[self.chosen]
        score = chosen.perplexities.get(self.metric, chosen.loss)
        if self.metric in OF_TRANSLATIONS and (score is None or math.isfinite(score)):
            score = self._translated()
        return ValidationScores(
            losses={name: each.loss for name, each in found.items()},
            score=score,
            perplexities={name: each.perplexities for name, each in found.items() if each.perplexities},
        )

    def holds(self, score: float | None, other: float | None) -> bool:
        """Whether a score is not worse than another; what is no number is worse than any that is."""
        if score is None or not math.isfinite(score):
            return False
        return other is None or not math.isfinite(other) or self.gain(over=other, score=score) >= 0

    def gain(self, *, over: float, score: float) -> float:
        """By how much a score is better than another."""
        return over - score if self.lower_is_better else score - over

    def _translated(self) -> float:
        corpus, config = self.sets[self.chosen], self.model.recipe.evaluate
        pairs = [corpus.pair(line) for line in spread(len(corpus), config.lines)]
        translator = self.model.translator(search=Search(beam=config.beam), tags=corpus.tags)
        sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        score = self._score(translator.translate(sources), references, sources)
        self.signature = score.signature
        return score.value

    def _score(self, outputs: list[str], references: list[str], sources: list[str]) -> Score:
        settings = MetricSettings(bleu_tokenizer=self.model.recipe.data.valid[self.chosen].bleu_tokenizer)
        lines = Translations(outputs=outputs, references=references, sources=sources, settings=settings)
        return OF_TRANSLATIONS[self.metric].compute(lines)


def compared(
    report: AverageReport,
    scorer: ValidationScorer,
    average: Mapping[str, Tensor],
    singles: Mapping[str, ValidationScores],
) -> AverageReport:
    """The report with losses and scores of the single ones, and of the average, which is measured now."""
    measured = {**singles, AVERAGE: scorer.measure(average)}
    comparison = Comparison(
        metric=scorer.metric,
        set=scorer.chosen,
        how=scorer.how,
        signature=scorer.signature,
        lower_is_better=scorer.lower_is_better,
        scores={label: each.score for label, each in measured.items()},
    )
    losses = {name: {label: each.losses[name] for label, each in measured.items()} for name in scorer.sets}
    perplexities = {
        name: {label: each.perplexities.get(name, {}) for label, each in measured.items()}
        for name in scorer.sets
        if any(name in each.perplexities for each in measured.values())
    }
    return replace(report, losses=losses, perplexities=perplexities, comparison=comparison)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScores:
    """Of one set, by one model."""

    loss: float | None
    """Nats per target token; None if no pair of it fits."""
    perplexities: dict[str, float] = field(default_factory=dict[str, float])
    """`perplexity`, `byte_perplexity` and `bits_per_byte` of a language model; empty for others."""


def scores_of_set(model: LoadedModel, corpus: Corpus) -> SetScores:
    """Measured as a run does it while it trains: documents whole, pairs those that fit."""
    if not corpus.has_documents:
        return _of_pairs(model, corpus)
    found = report_on_corpus(model, corpus)
    return SetScores(loss=found.loss, perplexities=found.scores)


def _of_pairs(model: LoadedModel, corpus: Corpus) -> SetScores:
    pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    loss = reference_loss(model, sources, references, tags=corpus.tags)
    if loss is None or not model.recipe.facts.scores_follow_from_the_loss:
        return SetScores(loss=loss)
    rows = reference_rows(model.recipe, model.tokenizers, sources, references, tags=corpus.tags)
    sizes = np.array([len(reference.encode()) for reference in references])
    tokens, size = int(rows.target_tokens[rows.fits].sum()), int(sizes[rows.fits].sum())
    return SetScores(loss=loss, perplexities=text_scores(loss, num_targets=tokens, num_bytes=size))


def _chosen(recipe: Recipe) -> str:
    """Name of the set that the best checkpoint is chosen by."""
    return recipe.evaluate.best.set or next(iter(recipe.data.valid))


def _of_texts(member: Member) -> str:
    """A phrase for the set that is compared, where it is a text without two sides; otherwise empty."""
    sets = member.recipe.data.valid
    name = _chosen(member.recipe) if sets else ""
    is_text = bool(sets) and sets[name].text is not None
    return f"the validation text {name} of {member.label}" if is_text else ""
