"""A search that rows join and leave at any time, so that a document never waits for another one.

Sentences that are searched together until the last of them is done cost as many steps as the longest; with dozens of
documents side by side there is a long one in every round. Here a row that is done makes room for the next one.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.decode.decode_loop import CHECK_EVERY
from trimtab.decode.document_session import JoinableSession, first_tokens, join, trim
from trimtab.decode.hypothesis import Hypothesis, Symbols
from trimtab.decode.limits import target_limit
from trimtab.decode.next_scores import OUT_OF_REACH, next_scores
from trimtab.decode.rows import Row, n_best_rows
from trimtab.decode.setup import TranslationCounts, TranslationSetup
from trimtab.decode.stream import stream_of
from trimtab.errors import RunFailed
from trimtab.types import DecoderSession

ENOUGH_TO_JOIN = 1 / 8
"""Sentences begin once more than this share of those open could: to begin costs the model about as much as two steps,
however many begin."""


@runtime_checkable
class DocumentSearch(Protocol):
    """Rows in, each with a key; hypotheses out as they are done."""

    def __len__(self) -> int:
        """Rows that are not done."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether no more rows can be taken now."""
        ...

    def put(self, key: Hashable, row: Row) -> None:
        """Takes a row."""
        ...

    def advance(self) -> list[tuple[Hashable, Hypothesis]]:
        """Goes on for a while and gives what is done, in no order."""
        ...


def document_search(
    setup: TranslationSetup, counts: TranslationCounts, *, side_by_side: int
) -> DocumentSearch:
    """The search for so many documents. One alone has nothing to wait for, so it is translated in rounds, which cost a
    little less; so are samples and searches without repetitions."""
    search = setup.search
    in_rounds = side_by_side == 1 or search.sampling is not None or search.no_repeat_ngram is not None
    return InRounds(setup, counts) if in_rounds else RunningSearch(setup, counts)


class InRounds:
    """All rows that were put since the last time, searched until the last of them is done."""

    def __init__(self, setup: TranslationSetup, counts: TranslationCounts) -> None:
        self.setup, self.counts = setup, counts
        self.put_in: list[tuple[Hashable, Row]] = []

    def __len__(self) -> int:
        return len(self.put_in)

    @property
    def is_full(self) -> bool:
        """Never: they become batches."""
        return False

    def put(self, key: Hashable, row: Row) -> None:
        """Takes a row."""
        self.put_in.append((key, row))

    def advance(self) -> list[tuple[Hashable, Hypothesis]]:
        """The best hypothesis for each row."""
        taken, self.put_in = self.put_in, []
        found = n_best_rows([row for _, row in taken], self.setup, n=1, counts=self.counts)
        return [(key, few[0]) for (key, _), few in zip(taken, found, strict=True)]


class RunningSearch:
    """Beam search as `beam_search` does it, greedy for a beam of 1, in which every row has a step of its own.

    A session that cannot be joined takes rows only when it has none.
    """

    def __init__(self, setup: TranslationSetup, counts: TranslationCounts) -> None:
        self.setup, self.search, self.counts = setup, setup.search, counts
        self.symbols = Symbols.of(setup.tokenizer)
        self.waiting: list[tuple[Hashable, Row]] = []
        self.rows: list[tuple[Hashable, Row]] = []
        self.left: list[int] = []
        """Steps that each row may still take."""
        self.session: DecoderSession | None = None
        self.state: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return len(self.rows) + len(self.waiting)

    @property
    def is_full(self) -> bool:
        """Whether source tokens times beam fill a batch, or the hypotheses do, or the session takes no more.

        While rows run and none waits, a batch counts as full until so much of it is free that it is worth to begin.
        """
        if self.session is not None and not isinstance(self.session, JoinableSession):
            return True
        tokens = sum(len(row.ids) for _, row in (*self.rows, *self.waiting))
        beam, share = self.search.beam, 1 - ENOUGH_TO_JOIN if self.rows and not self.waiting else 1
        hypotheses = (len(self) + 1) * beam
        return (
            tokens * beam >= share * self.setup.batch_tokens
            or hypotheses > share * self.setup.most_hypotheses
        )

    def put(self, key: Hashable, row: Row) -> None:
        """Takes a row without a prefix; it begins with the next `advance`."""
        assert not row.prefix, "sentences of documents have no prefix"
        self.waiting.append((key, row))

    @torch.inference_mode()
    def advance(self) -> list[tuple[Hashable, Hypothesis]]:
        """Makes a few steps, and gives the best hypothesis of each row that is done."""
        if self.waiting:
            self._begin(self.waiting)
            self.waiting = []
        session = self.session
        if session is None:
            return []
        steps = min(CHECK_EVERY, max(self.left))
        first_limit = min(self.left)
        for step in range(steps):
            logits = session.step(self.state["last"])
            session.reorder(self._extend(logits, any_at_limit=first_limit <= step + 1))
        self.left = [left - steps for left in self.left]
        return self._take_done(session)

    def _begin(self, new: list[tuple[Hashable, Row]]) -> None:
        rows, device, beam = [row for _, row in new], self.setup.device, self.search.beam
        limits = [_limit(row, self.setup) for row in rows]
        source = stream_of([row.ids for row in rows], device)
        session = self.setup.model.open_session(source, rows=len(rows), width=beam, max_length=max(limits))
        given = [row.given.target if row.given is not None else () for row in rows]
        last = first_tokens(session, given, start=self.symbols.start, width=beam, device=device)
        state = self._first_state(last, torch.tensor(limits, device=device))
        if self.session is None:
            self.session, self.state = session, state
        else:
            assert isinstance(self.session, JoinableSession)
            assert isinstance(session, JoinableSession)
            join(self.session, session)
            self.state = {name: torch.cat([self.state[name], state[name]]) for name in state}
        self.rows, self.left = [*self.rows, *new], [*self.left, *limits]

    def _first_state(self, last: Int[Tensor, "rows beam"], limits: Int[Tensor, "rows"]) -> dict[str, Tensor]:
        (rows, beam), device = last.shape, last.device
        longest = self.setup.max_tokens + CHECK_EVERY  # rows that are done run on until they are taken out
        scores = torch.full((rows, beam), OUT_OF_REACH, device=device)
        scores[:, 0] = 0.0  # all hypotheses of a row begin alike; only the first counts
        count = torch.zeros(rows, dtype=torch.long, device=device)
        return {
            "last": last,
            "limits": limits,
            "steps": count,
            "ids": torch.full((rows, beam, longest), self.symbols.end, device=device),
            "scores": scores,
            "num_finished": count.clone(),
            "done": count > 0,
            "broken": count > 0,
            "best_ids": torch.full((rows, longest), self.symbols.end, device=device),
            "best_length": count.clone(),
            "best_score": torch.full((rows,), OUT_OF_REACH, device=device),
            "best_normalised": torch.full((rows,), OUT_OF_REACH, device=device),
        }

    def _extend(
        self, logits: Float[Tensor, "rows beam vocabulary"], *, any_at_limit: bool
    ) -> Int[Tensor, "rows beam"]:
        """As `beam_search`: of the likeliest `2 * beam` continuations the first `beam` may end, the others continue."""
        state, beam, vocabulary = self.state, self.search.beam, logits.shape[-1]
        at_limit = state["limits"] <= state["steps"] + 1 if any_at_limit else None
        scores = next_scores(logits, symbols=self.symbols, at_limit=at_limit)
        totals = state["scores"][..., None] + scores
        top, places = totals.flatten(1).topk(min(2 * beam, beam * vocabulary))
        state["broken"] = state["broken"] | top.isnan().any(1)
        parents, tokens = places // vocabulary, places % vocabulary
        ended = tokens == self.symbols.end
        self._finish(top.where(ended, OUT_OF_REACH)[:, :beam], parents)
        state["scores"], chosen = top.masked_fill(ended, OUT_OF_REACH).topk(beam)
        parents, state["last"] = parents.gather(1, chosen), tokens.gather(1, chosen)
        ids = state["ids"].gather(1, parents[..., None].expand_as(state["ids"]))
        place = state["steps"][:, None, None].clamp(max=ids.shape[-1] - 1).expand(-1, beam, 1)
        state["ids"] = ids.scatter(2, place, state["last"][..., None])
        state["steps"] = state["steps"] + 1
        self._mark_done()
        return parents

    def _finish(self, scores: Float[Tensor, "rows beam"], parents: Int[Tensor, "rows candidates"]) -> None:
        """Keeps the best of what ended with this step; minus infinity is what did not."""
        state = self.state
        length = state["steps"] + 1
        score, place = scores.max(1)
        normalised = score / length**self.search.length_penalty
        better = (normalised > state["best_normalised"]) & ~state["done"]
        chosen = parents.gather(1, place[:, None])[..., None].expand(-1, -1, state["ids"].shape[-1])
        found = {
            "best_ids": state["ids"].gather(1, chosen)[:, 0],
            "best_length": state["steps"],
            "best_score": score,
            "best_normalised": normalised,
        }
        for name, value in found.items():
            state[name] = torch.where(better[:, None] if value.dim() == 2 else better, value, state[name])
        state["num_finished"] = state["num_finished"] + (scores > OUT_OF_REACH).sum(1)

    def _mark_done(self) -> None:
        # See `beam_search` for the bound. Greedy search takes the first end that it finds.
        state, search = self.state, self.search
        bound = state["scores"][:, 0] / state["limits"] ** search.length_penalty
        state["done"] = state["done"] | (state["best_normalised"] >= bound)
        if search.stop == "enough" or search.beam == 1:
            state["done"] = state["done"] | (state["num_finished"] >= search.beam)

    def _take_done(self, session: DecoderSession) -> list[tuple[Hashable, Hypothesis]]:
        done, broken = torch.stack([self.state["done"], self.state["broken"]]).tolist()
        if any(broken):
            raise RunFailed(
                f"translation stopped: the model's scores are NaN in {sum(broken)} of {len(broken)} "
                "sentences\n"
                "  fix     use a checkpoint from before the loss became NaN; or translate in fp32, where "
                "half precision overflows"
            )
        closed = [row for row, is_done in enumerate(done) if is_done]
        if not closed:
            return []
        found = self._hypotheses(closed)
        still_open = [row for row, is_done in enumerate(done) if not is_done]
        self.rows = [self.rows[row] for row in still_open]
        self.left = [self.left[row] for row in still_open]
        if not still_open:
            self.session, self.state = None, {}
            return found
        index = torch.tensor(still_open, device=self.setup.device)
        session.keep(index)
        if isinstance(session, JoinableSession):
            trim(session)
        self.state = {name: value[index] for name, value in self.state.items()}
        return found

    def _hypotheses(self, closed: Sequence[int]) -> list[tuple[Hashable, Hypothesis]]:
        index = torch.tensor(closed, device=self.setup.device)
        names = ("best_ids", "best_length", "best_score", "best_normalised", "limits")
        columns = zip(*(self.state[name][index].tolist() for name in names), strict=True)
        found: list[tuple[Hashable, Hypothesis]] = []
        for row, (ids, length, score, normalised, limit) in zip(closed, columns, strict=True):
            key, source = self.rows[row]
            hypothesis = Hypothesis(ids=ids[:length], score=score, normalised=normalised)
            found.append((key, hypothesis))
            self.counts.pieces += 1
            self.counts.source_tokens += len(source.ids)
            self.counts.target_tokens += hypothesis.length
            self.counts.at_limit += hypothesis.length >= limit
        return found


def _limit(row: Row, setup: TranslationSetup) -> int:
    if row.given is None:
        return target_limit(len(row.ids), max_tokens=setup.max_tokens)
    return target_limit(row.given.own_tokens, max_tokens=setup.max_tokens - len(row.given.target))
