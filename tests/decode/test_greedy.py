import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.beam_search import slow_greedy
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.stream import stream_of
from trimtab.errors import RunFailed

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1, 3))


@given(data=st.data(), seed=st.integers(0, 10_000), vocabulary=st.integers(5, 12))
def test_it_finds_what_a_loop_over_one_sentence_finds(data, seed, vocabulary):
    model = RecurrentModel(seed, vocabulary=vocabulary)
    ids = st.integers(0, vocabulary - 1)
    rows = data.draw(st.lists(st.lists(ids, min_size=1, max_size=5), min_size=1, max_size=9))
    limits = data.draw(st.lists(st.integers(1, 25), min_size=len(rows), max_size=len(rows)))
    found = greedy(model, stream_of(rows, CPU), limits=limits, symbols=SYMBOLS)
    for hypothesis, row, limit in zip(found, rows, limits, strict=True):
        expected, score = slow_greedy(
            lambda ids, row=row: model.log_probabilities(row, [SYMBOLS.start, *ids]),
            limit=limit,
            end=SYMBOLS.end,
            suppress=SYMBOLS.suppress,
        )
        assert hypothesis.ids == expected
        assert hypothesis.score == pytest.approx(score, rel=1e-9)
        assert hypothesis.normalised == pytest.approx(score / (len(expected) + 1), rel=1e-9)
        assert not {0, 1, 2, 3} & set(hypothesis.ids)


class Logits:
    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)

    def open_session(self, source, *, rows, width, max_length):
        self.rows = rows
        return self

    def step(self, tokens):
        return self.logits.expand(self.rows, 1, -1)

    def reorder(self, parents):
        raise AssertionError("greedy paths continue in their order")

    def keep(self, rows):
        self.rows = len(rows)


def test_scores_that_are_no_numbers_stop_the_search_with_a_reason():
    with pytest.raises(RunFailed, match="scores are NaN"):
        greedy(Logits([float("nan")] * 5), stream_of([[2]], CPU), limits=[1000], symbols=SYMBOLS)


def test_an_end_of_probability_zero_is_forced_at_the_limit():
    never = float("-inf")
    found = greedy(
        Logits([0.0, 0.0, never, 0.0, 5.0]), stream_of([[2], [2]], CPU), limits=[3, 9], symbols=SYMBOLS
    )
    assert [hypothesis.ids for hypothesis in found] == [[4] * 2, [4] * 8]
    assert {hypothesis.score for hypothesis in found} == {never}


def test_no_rows_give_no_hypotheses():
    assert greedy(Logits([0.0] * 5), stream_of([], CPU), limits=[], symbols=SYMBOLS) == []
