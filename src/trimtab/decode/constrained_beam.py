"""Beam search whose translations have given terms in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from trimtab.decode.constraints import Constraints
from trimtab.decode.decode_loop import decode_loop
from trimtab.decode.finished import BestFinished, Ended, FewFinished, Finished, Found
from trimtab.decode.hypothesis import Hypothesis, Symbols
from trimtab.decode.lexical_constraints import TermTables
from trimtab.decode.next_scores import OUT_OF_REACH, next_scores
from trimtab.decode.search import Search
from trimtab.types import Stream, Translates

_FLOOR = -1e30
"""A token of a term can be reached even where the model gives it a probability of zero."""


@torch.inference_mode()
def constrained_beam_search(
    model: Translates,
    source: Stream,
    *,
    limits: Sequence[int],
    symbols: Symbols,
    search: Search,
    terms: TermTables,
    n: int = 1,
) -> list[list[Hypothesis]]:
    """The best `n` hypotheses found for each segment of the source that have all terms of their row, the best first.

    Dynamic beam allocation: beside the likeliest `2 * beam` continuations of a row, the search looks at the likeliest
    of each hypothesis and at each token that begins or continues a term of it. The continuations are sorted into banks
    by the number of tokens that they lack, and each bank that is not empty gets an equal share of the beam, so that
    hypotheses with few terms and with many compete among themselves. Only a hypothesis with all terms may end, and
    none is followed that could not write what it lacks before its limit: so each row is met.

    Tables of the terms are compared for all hypotheses of a batch at once. Hypotheses remember which terms they have
    had, so that a term that is begun and not finished is found again from what is written. Shares that a bank cannot
    use go to the likeliest of the others. A row without terms is searched as `beam_search` does.

    `limits` as for `greedy`, each above the tokens that the terms of the row need. Sources: Post and Vilar 2018, arXiv
    1804.06609, section 3 (banks and candidates); Hu et al. 2019, N19-1090, for batches. Raises RunFailed if the model's
    scores are NaN.
    """
    if not limits:
        return []
    rows, longest, device = len(limits), max(limits), source.ids.device
    session = model.open_session(source, rows=rows, width=search.beam, max_length=longest)
    if n == 1:
        best = BestFinished.begin(rows, longest, end=symbols.end, device=device)
        paths = _ConstrainedPaths.begin(limits, symbols=symbols, search=search, finished=best, terms=terms)
        return [[hypothesis] for hypothesis in decode_loop(session, paths, num_steps=longest)]
    few = FewFinished.begin(rows, longest, few=n, end=symbols.end, device=device)
    many = _ConstrainedPaths.begin(limits, symbols=symbols, search=search, finished=few, terms=terms)
    return decode_loop(session, many, num_steps=longest)


class _Candidates(NamedTuple):
    """Continuations by one token, each of them once, the likeliest first."""

    totals: Float[Tensor, "rows candidates"]
    """Minus infinity for what may not be followed."""
    parents: Int[Tensor, "rows candidates"]
    tokens: Int[Tensor, "rows candidates"]


class _Terms(NamedTuple):
    """What a hypothesis has of its terms."""

    met: Bool[Tensor, "rows hypotheses terms"]
    progress: Int[Tensor, "rows hypotheses spellings"]

    def take(self, index: Int[Tensor, "rows chosen"]) -> "_Terms":
        return _Terms(*(each.gather(1, _wide(index, each)) for each in self))


@dataclass(slots=True)
class _ConstrainedPaths(Generic[Found]):
    """The open hypotheses of each row of the batch, and the finished ones; see `beam._BeamPaths`."""

    symbols: Symbols
    search: Search
    limits: list[int]
    device_limits: Int[Tensor, "rows"]
    divisors: Num[Tensor, "rows"]
    last: Int[Tensor, "rows beam"]
    ids: Int[Tensor, "rows beam length"]
    scores: Float[Tensor, "rows beam"]
    num_finished: Int[Tensor, "rows"]
    done: Bool[Tensor, "rows"]
    broken: Bool[Tensor, "rows"]
    finished: Finished[Found]
    tables: TermTables
    terms: _Terms

    @classmethod
    def begin(
        cls,
        limits: Sequence[int],
        *,
        symbols: Symbols,
        search: Search,
        finished: Finished[Found],
        terms: TermTables,
    ) -> "_ConstrainedPaths[Found]":
        rows, beam, device = len(limits), search.beam, finished.to_beat.device
        device_limits = torch.tensor(limits, device=device)
        scores = torch.full((rows, beam), OUT_OF_REACH, device=device)
        scores[:, 0] = 0.0  # all hypotheses of a row begin alike; only the first counts
        met = (terms.shortest == 0)[:, None].repeat(1, beam, 1)
        nothing = torch.zeros(rows, beam, terms.ids.shape[1], dtype=torch.long, device=device)
        return cls(
            symbols=symbols,
            search=search,
            limits=list(limits),
            device_limits=device_limits,
            divisors=device_limits**search.length_penalty,
            last=torch.full((rows, beam), symbols.start, device=device),
            ids=torch.full((rows, beam, max(limits)), symbols.end, device=device),
            scores=scores,
            num_finished=torch.zeros(rows, dtype=torch.long, device=device),
            done=torch.zeros(rows, dtype=torch.bool, device=device),
            broken=torch.zeros(rows, dtype=torch.bool, device=device),
            finished=finished,
            tables=terms,
            terms=_Terms(met, nothing),
        )

    def tokens(self) -> Int[Tensor, "rows beam"]:
        return self.last

    def extend(self, logits: Float[Tensor, "rows beam vocabulary"], *, step: int) -> Int[Tensor, "rows beam"]:
        found = self._candidates(logits, step=step)
        state = self.terms.take(found.parents)
        tail = self._tails(found, step=step)
        progress = self.tables.progress(tail)
        # The end symbol keeps what the hypothesis had.
        met = self.tables.met_with(state.met, progress)
        missing = self.tables.missing(met, progress)
        left = (self.device_limits - step - 1)[:, None]
        ended = found.tokens == self.symbols.end
        fits = torch.where(ended, missing == 0, missing < left)
        totals = found.totals.masked_fill(~fits, OUT_OF_REACH)
        self._finish(totals, found, ended=ended & (missing == 0), missing=missing, num_ids=step)
        open_totals = totals.masked_fill(ended, OUT_OF_REACH)
        chosen = choose(open_totals, missing, beam=self.search.beam, most_missing=self.tables.most_missing)
        self.scores = open_totals.gather(1, chosen)
        self.terms = _Terms(met, progress).take(chosen)
        parents, self.last = found.parents.gather(1, chosen), found.tokens.gather(1, chosen)
        self.ids = self.ids.gather(1, _wide(parents, self.ids))
        self.ids[:, :, step] = self.last
        self._mark_done()
        return parents

    def _candidates(self, logits: Float[Tensor, "rows beam vocabulary"], *, step: int) -> _Candidates:
        beam, vocabulary = logits.shape[1:]
        at_limit = self.device_limits <= step + 1 if min(self.limits) <= step + 1 else None
        scores = next_scores(logits, symbols=self.symbols, at_limit=at_limit)
        proposed, proposed_tokens = self._proposed(scores)
        if self.search.no_repeat_ngram is not None:
            blocking = Constraints(no_repeat_ngram=self.search.no_repeat_ngram)
            scores = blocking.apply(scores, logits=logits, written=self.ids[:, :, :step])
        lacking = self.tables.missing(*self.terms) > 0
        end_scores = scores[..., self.symbols.end].masked_fill(lacking, OUT_OF_REACH)
        scores[..., self.symbols.end] = end_scores
        totals = scores.add_(self.scores[..., None])  # in place: the largest tensor of a step
        top, places = totals.flatten(1).topk(min(2 * beam, beam * vocabulary))
        self.broken = self.broken | top[:, 0].isnan()
        best, best_tokens = totals.max(-1)
        own = torch.arange(beam, device=logits.device).expand(len(logits), beam)
        proposers = own[..., None].expand_as(proposed)
        return _each_once(
            torch.cat([top, best, proposed.flatten(1)], 1),
            torch.cat([places // vocabulary, own, proposers.flatten(1)], 1),
            torch.cat([places % vocabulary, best_tokens, proposed_tokens.flatten(1)], 1),
            vocabulary=vocabulary,
        )

    def _proposed(self, scores: Float[Tensor, "rows beam vocabulary"]) -> tuple[Tensor, Tensor]:
        """The next token of each term that a hypothesis lacks, at the model's own log-probability; a row at its limit
        lacks none."""
        tokens = self.tables.following(self.terms.progress)
        own = scores.gather(2, tokens).clamp(min=_FLOOR)
        totals = own + self.scores[..., None]
        return totals.masked_fill(~self.tables.wanted(self.terms.met), OUT_OF_REACH), tokens

    def _tails(self, found: _Candidates, *, step: int) -> Int[Tensor, "rows candidates tail"]:
        """The last tokens of each continuation, as many as the tables compare, start symbols before them."""
        before = self.tables.longest
        written = self.ids[:, :, max(0, step - before) : step]
        filled = written.new_full((*written.shape[:2], before - written.shape[2]), self.symbols.start)
        past = torch.cat([filled, written], 2)
        return torch.cat([past.gather(1, _wide(found.parents, past)), found.tokens[..., None]], 2)

    def _finish(
        self,
        totals: Float[Tensor, "rows candidates"],
        found: _Candidates,
        *,
        ended: Bool[Tensor, "rows candidates"],
        missing: Int[Tensor, "rows candidates"],
        num_ids: int,
    ) -> None:
        """Of the likeliest `beam` continuations that lack nothing, those that end are finished."""
        complete = (missing == 0) & (totals > OUT_OF_REACH)
        among_best = ended & (complete.cumsum(1) <= self.search.beam)
        scores, chosen = totals.masked_fill(~among_best, OUT_OF_REACH).topk(self.search.beam)
        self.finished.add(
            Ended(
                scores=scores,
                parents=found.parents.gather(1, chosen),
                ids=self.ids,
                num_ids=num_ids,
                length_penalty=self.search.length_penalty,
            ),
            done=self.done,
        )
        self.num_finished = self.num_finished + (scores > OUT_OF_REACH).sum(1)

    def _mark_done(self) -> None:
        # See `beam_search` for the bound.
        bound = self.scores.amax(1) / self.divisors
        self.done = self.done | (self.finished.to_beat >= bound)
        if self.search.stop == "enough":
            self.done = self.done | (self.num_finished >= self.search.beam)

    def keep(self, rows: Sequence[int]) -> None:
        self.limits = [self.limits[row] for row in rows]
        index = torch.tensor(rows, device=self.done.device)
        self.finished.keep(index)
        self.tables = self.tables.kept(index)
        self.terms = _Terms(*(each[index] for each in self.terms))
        for name in ("device_limits", "divisors", "last", "ids", "scores", "num_finished", "done", "broken"):
            setattr(self, name, getattr(self, name)[index])

    def hypotheses(self, rows: Sequence[int]) -> list[Found]:
        return self.finished.found(rows)


def choose(
    totals: Float[Tensor, "rows candidates"],
    missing: Int[Tensor, "rows candidates"],
    *,
    beam: int,
    most_missing: int,
) -> Int[Tensor, "rows beam"]:
    """Which candidates continue, the likeliest first: each bank that is not empty gets an equal share of the beam.

    `totals` fall from left to right but for minus infinity, which is out of the question; `missing`, at most
    `most_missing`, is the bank. There are at least `beam` candidates. What cannot be shared out equally goes to the
    banks that lack least, one each, so that there is always one hypothesis that comes nearest to having all; what a
    bank cannot fill, to the likeliest of the others.
    """
    rows, count = totals.shape
    valid = totals > OUT_OF_REACH
    banks = torch.zeros(rows, count, most_missing + 1, dtype=torch.long, device=totals.device)
    banks = banks.scatter_(2, missing[..., None], 1) * valid[..., None]
    rank = (banks.cumsum(1) - 1).gather(2, missing[..., None])[..., 0]
    filled = banks.amax(1)
    num_banks = filled.sum(1, keepdim=True).clamp(min=1)
    share, rest = beam // num_banks, beam % num_banks
    shares = share + (filled.cumsum(1) <= rest)
    kept = rank < shares.gather(1, missing)
    place = torch.arange(count, device=totals.device)
    order = place + count * (~kept).long() + 2 * count * (~valid).long()
    first = order.topk(beam, largest=False).indices
    in_order = totals.gather(1, first).argsort(dim=1, descending=True, stable=True)
    return first.gather(1, in_order)


def _each_once(
    totals: Float[Tensor, "rows candidates"],
    parents: Int[Tensor, "rows candidates"],
    tokens: Int[Tensor, "rows candidates"],
    *,
    vocabulary: int,
) -> _Candidates:
    """The same continuations sorted, the likeliest first; of those that are equal only the first can be reached."""
    totals, order = totals.sort(dim=1, descending=True, stable=True)
    parents, tokens = parents.gather(1, order), tokens.gather(1, order)
    codes, places = (parents * vocabulary + tokens).sort(dim=1, stable=True)
    again = torch.zeros_like(codes, dtype=torch.bool)
    again[:, 1:] = codes[:, 1:] == codes[:, :-1]
    repeated = torch.zeros_like(again).scatter(1, places, again)
    return _Candidates(totals.masked_fill(repeated, OUT_OF_REACH), parents, tokens)


def _wide(index: Int[Tensor, "rows chosen"], of: Tensor) -> Tensor:
    """The index for a gather of what has a further dimension."""
    return index[..., None].expand(-1, -1, of.shape[2])
