import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.beam_search import slow_beam_search
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search
from trimtab.decode.constraints import Constraints, block_repeats
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))
NEVER = float("-inf")


def repeats(ids: list[int], symbol: int, size: int) -> bool:
    """Whether the n-gram that `symbol` ends stands in `ids` already, looked for one by one."""
    new = [*ids, symbol][-size:]
    return len(new) == size and any(ids[start : start + size] == new for start in range(len(ids) - size + 1))


@given(
    written=st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=1, max_size=4),
    length=st.integers(0, 9),
    size=st.integers(1, 4),
)
def test_what_would_repeat_is_out_of_reach_and_nothing_else(written, length, size):
    scores = torch.randn(len(written), 1, 4)
    ids = torch.tensor(written)[:, None, :length]
    found = block_repeats(scores, written=ids, size=size)
    for row, line in enumerate(written):
        for symbol in range(4):
            is_blocked = repeats(line[:length], symbol, size)
            assert found[row, 0, symbol] == (NEVER if is_blocked else scores[row, 0, symbol])


def test_scores_that_are_no_numbers_stay_none():
    scores = torch.full((1, 1, 4), float("nan"))
    assert block_repeats(scores, written=torch.tensor([[[3, 3]]]), size=1).isnan().sum() >= 3


@given(seed=st.integers(0, 10_000), size=st.integers(1, 3), beam=st.integers(1, 4))
def test_the_search_finds_what_the_plain_one_with_the_same_bar_finds(seed, size, beam):
    model = RecurrentModel(seed, vocabulary=6)
    rows, limits = [[3, 4], [5], [4, 4, 3]], [14, 9, 12]
    constraints = Constraints.of(None, no_repeat_ngram=size, device=CPU)
    source = stream_of(rows, CPU)
    search = Search(beam=beam)
    found = beam_search(model, source, limits=limits, symbols=SYMBOLS, search=search, constraints=constraints)
    for hypothesis, row, limit in zip(found, rows, limits, strict=True):
        expected = slow_beam_search(
            lambda ids, row=row: model.log_probabilities(row, [SYMBOLS.start, *ids]),
            beam=beam,
            length_penalty=1.0,
            limit=limit,
            end=SYMBOLS.end,
            suppress=SYMBOLS.suppress,
            blocked=lambda ids, symbol: repeats(ids, symbol, size),
        )
        assert hypothesis.ids == expected.ids
        assert hypothesis.score == pytest.approx(expected.score, rel=1e-9)
        grams = [tuple(hypothesis.ids[i : i + size]) for i in range(len(hypothesis.ids) - size + 1)]
        assert len(grams) == len(set(grams))


class Stuck:
    """Likes symbol 3 best, then 4, and the end least."""

    def open_session(self, source, *, rows, width, max_length):
        self.rows, self.width = rows, width
        return self

    def step(self, tokens):
        return torch.tensor([-9.0, -9.0, -5.0, 3.0, 2.0]).expand(self.rows, self.width, -1)

    def reorder(self, parents):
        raise AssertionError("greedy paths continue in their order")

    def keep(self, rows):
        self.rows = len(rows)


def test_greedy_search_leaves_the_loop_that_it_was_in():
    source = stream_of([[2], [2]], CPU)
    stuck = greedy(Stuck(), source, limits=[6, 9], symbols=SYMBOLS)
    assert [found.ids for found in stuck] == [[3] * 5, [3] * 8]
    bar = Constraints.of(None, no_repeat_ngram=1, device=CPU)
    assert [
        found.ids for found in greedy(Stuck(), source, limits=[6, 9], symbols=SYMBOLS, constraints=bar)
    ] == [
        [3, 4],
        [3, 4],
    ]


def test_what_is_forced_may_repeat_and_counts_as_written():
    bar = Constraints.of([[3, 3, 3]], no_repeat_ngram=2, device=CPU)
    (found,) = greedy(Stuck(), stream_of([[2]], CPU), limits=[9], symbols=SYMBOLS, constraints=bar)
    assert found.ids[:4] == [3, 3, 3, 4]
