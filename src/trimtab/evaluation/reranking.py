"""Reranks candidates by other models: how likely the source is after them, how fluent they are, how long they are.

Source: Yee et al. 2019, arXiv 1908.05731, the noisy channel for neural translation; Ng et al. 2019, arXiv 1907.06616,
section 4.4. Here each log-probability is a mean over the tokens of its text, so that weights mean the same for short
and for long lines.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trimtab.config.pairs_alone import refuse_pairs_alone
from trimtab.data.exact_text import ExactText
from trimtab.data.text_rows import no_source, split
from trimtab.decode.candidate import Candidate
from trimtab.errors import InputError, input_error
from trimtab.evaluation.pairs import score_pairs
from trimtab.evaluation.score_rows import row_log_probabilities
from trimtab.inference import ExportedModel, LoadedModel, Translator, load_model, open_model
from trimtab.inference.translator import Prefixes
from trimtab.types import Ragged

BLOCK_CANDIDATES = 4096
"""Candidates that are scored at once."""


@dataclass(frozen=True, slots=True)
class Reranker:
    """What is added to the score that the translation model gives a candidate, its log-probability divided by
    `tokens ** length_penalty`."""

    reverse: tuple[tuple[LoadedModel | ExportedModel, float], ...] = ()
    """Models of the other direction, with the weight of the source's mean log-probability per token."""
    lm: tuple[tuple[LoadedModel, float], ...] = ()
    """Language models, with the weight of the candidate's mean log-probability per token."""
    length: float = 0.0
    """Weight of the candidate's tokens, divided by the mean of the line's candidates; above 0 favors long ones."""
    reverse_tags: tuple[str, ...] = ()
    """Put before every line that the reverse models read."""

    def rerank(self, sources: Sequence[str], lists: Sequence[Sequence[Candidate]]) -> list[list[Candidate]]:
        """The candidates of each source line by their new scores, best first; of equal ones the earlier.

        A candidate that another model cannot read, since it is too long, gets the worst score that this model gives a
        candidate of the line.
        """
        texts = [each.text for few in lists for each in few]
        given = [source for source, few in zip(sources, lists, strict=True) for _ in few]
        scores = np.array([each.score for few in lists for each in few], np.float64)
        bounds = np.cumsum([0, *(len(few) for few in lists)])
        for model, weight in self.reverse:
            found = [pair.per_token for pair in score_pairs(model, texts, given, tags=self.reverse_tags)]
            scores += weight * _filled(np.array(found, np.float64), bounds)
        for model, weight in self.lm:
            scores += weight * _filled(text_log_probabilities(model, texts), bounds)
        if self.length:
            tokens = np.array([each.num_tokens for few in lists for each in few], np.float64)
            usual = np.repeat(_means(tokens, bounds), np.diff(bounds))
            scores += self.length * tokens / np.maximum(usual, 1.0)
        numbers = iter(scores.tolist())
        rescored = [[replace(each, score=next(numbers)) for each in few] for few in lists]
        return [sorted(few, key=lambda each: -each.score) for few in rescored]

    def stream(
        self, translator: Translator, lines: Iterable[str], *, n: int, prefixes: Prefixes = None
    ) -> Iterator[list[Candidate]]:
        """The reranked `n` candidates of each line, in order, in bounded memory, at the latest when the translator has
        answered every line that it has read; a line without anything to translate has an empty one."""
        read: deque[str] = deque()

        def noted() -> Iterator[str]:
            for line in lines:
                read.append(line)
                yield line

        block: list[tuple[str, list[Candidate]]] = []
        size = 0
        for few in translator.n_best_stream(noted(), n=n, prefixes=prefixes):
            block.append((read.popleft(), few))
            size += len(few)
            # With no line left that was read, the next one may be a person's who waits for these.
            if size >= BLOCK_CANDIDATES or not read:
                yield from self._block(block)
                block, size = [], 0
        yield from self._block(block)

    def _block(self, block: Sequence[tuple[str, list[Candidate]]]) -> Iterator[list[Candidate]]:
        several = [(source, few) for source, few in block if len(few) > 1]
        found = iter(self.rerank([source for source, _ in several], [few for _, few in several]))
        for _, few in block:
            yield next(found) if len(few) > 1 else few


def load_reranker(
    *,
    reverse: Mapping[str, float] | None = None,
    lm: Mapping[str, float] | None = None,
    length: float = 0.0,
    reverse_tags: Sequence[str] = (),
    device: str | None = None,
) -> Reranker:
    """A reranker of models by the names of their runs, with their weights.

    `reverse` are models that translate back, `RUN`, `RUN@500` or an export; `lm` are runs with `task: language_model`.
    Raises InputError if nothing is given, if a language model is none, for a tag that a reverse model does not have,
    and what `load_model` raises.
    """
    if not reverse and not lm and not length:
        raise input_error(
            "rerank: nothing to rerank by",
            got="no model and no weight of the length",
            allowed="reverse={RUN: weight}, lm={RUN: weight}, length=weight; one of them at least",
            fix="give a model of the other direction, a language model, or a weight of the length",
        )
    behind = [(open_model(run, device=device), weight) for run, weight in (reverse or {}).items()]
    for model, _ in behind:
        model.look_at(tuple(reverse_tags))
    fluent = [(_language_model(run, device=device), weight) for run, weight in (lm or {}).items()]
    return Reranker(tuple(behind), tuple(fluent), length, tuple(reverse_tags))


def text_log_probabilities(model: LoadedModel, texts: Sequence[str]) -> np.ndarray:
    """The mean natural log-probability per token of each text, a document of its own, end symbol included; float64."""
    if not texts:
        return np.zeros(0)
    exact = ExactText(model.tokenizer)
    most = model.recipe.data.max_tokens
    rows = [split([*ids, exact.end], most, given=[]) for ids in exact.ids(texts)]
    flat = [row for few in rows for row in few]
    target, prompt = Ragged.of([row.ids for row in flat]), np.array([row.prompt for row in flat], np.int32)
    sums = row_log_probabilities(model, no_source(len(flat)), target, prompt=prompt)
    owners = np.repeat(np.arange(len(rows)), [len(few) for few in rows])
    totals = np.bincount(owners, sums, minlength=len(rows))
    return totals / np.bincount(owners, target.lengths - prompt, minlength=len(rows))


def _language_model(run: str, *, device: str | None) -> LoadedModel:
    model = load_model(run, device=device)
    if model.model.config.has_encoder:
        raise _no_language_model(run)
    refuse_pairs_alone(model.recipe, name=model.name, instead="take it as `reverse`")
    return model


def _no_language_model(run: str) -> InputError:
    return input_error(
        f"{run}: a translation model, which cannot say how fluent a text is",
        got="an encoder-decoder as `lm`",
        allowed="a run with `task: language_model`",
        fix="take it as `reverse`, if it translates back",
    )


def _filled(scores: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The scores, in which NaN, a text that the model cannot read, becomes the worst of its line, or 0 where the model
    can read none of it."""
    filled = scores.copy()
    for start, stop in pairwise(bounds.tolist()):
        part = filled[start:stop]
        missing = np.isnan(part)
        if missing.any():
            part[missing] = 0.0 if missing.all() else part[~missing].min()
    return filled


def _means(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    counts = np.diff(bounds)
    owners = np.repeat(np.arange(len(counts)), counts)
    return np.bincount(owners, values, minlength=len(counts)) / np.maximum(counts, 1)
