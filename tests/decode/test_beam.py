import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.beam_search import slow_beam_search
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search
from trimtab.decode.decode_loop import check_interval
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.errors import RunFailed

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))


def slow(model: RecurrentModel, row: list[int], *, limit: int, search: Search):
    return slow_beam_search(
        lambda ids: model.log_probabilities(row, [SYMBOLS.start, *ids]),
        beam=search.beam,
        length_penalty=search.length_penalty,
        limit=limit,
        end=SYMBOLS.end,
        suppress=SYMBOLS.suppress,
        stop_when_enough=search.stop == "enough",
    )


searches = st.builds(
    Search,
    beam=st.integers(1, 5),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 1.7]),
    stop=st.sampled_from(["exact", "enough"]),
)


@pytest.mark.slow
@given(data=st.data(), seed=st.integers(0, 10_000), vocabulary=st.integers(3, 9), search=searches)
def test_it_finds_what_the_plain_python_search_finds(data, seed, vocabulary, search):
    model = RecurrentModel(seed, vocabulary=vocabulary)
    ids = st.integers(0, vocabulary - 1)
    rows = data.draw(st.lists(st.lists(ids, min_size=1, max_size=5), min_size=1, max_size=9))
    limits = data.draw(st.lists(st.integers(1, 14), min_size=len(rows), max_size=len(rows)))
    found = beam_search(model, stream_of(rows, CPU), limits=limits, symbols=SYMBOLS, search=search)
    assert len(found) == len(rows)
    for hypothesis, row, limit in zip(found, rows, limits, strict=True):
        expected = slow(model, row, limit=limit, search=search)
        assert hypothesis.ids == expected.ids
        assert hypothesis.score == pytest.approx(expected.score, rel=1e-9)
        assert hypothesis.normalised == pytest.approx(expected.normalised, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), length_penalty=st.sampled_from([0.0, 0.6, 1.0]))
def test_a_beam_that_holds_everything_finds_the_best_sentence_of_all(seed, length_penalty):
    model, limit, row = RecurrentModel(seed, vocabulary=5), 4, [3, 4, 2]
    every = []
    for length in range(limit):
        for ids in itertools.product((3, 4), repeat=length):
            prefix, score = [SYMBOLS.start], 0.0
            for symbol in (*ids, SYMBOLS.end):
                score += model.log_probabilities(row, prefix)[symbol]
                prefix.append(symbol)
            every.append((score / (length + 1) ** length_penalty, list(ids)))
    search = Search(beam=64, length_penalty=length_penalty)
    (found,) = beam_search(model, stream_of([row], CPU), limits=[limit], symbols=SYMBOLS, search=search)
    assert found.ids == max(every)[1]
    assert found.normalised == pytest.approx(max(every)[0], rel=1e-6)


@given(seed=st.integers(0, 10_000), limits=st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_a_beam_of_one_is_greedy(seed, limits):
    model = RecurrentModel(seed, vocabulary=8)
    source = stream_of([[3 + number % 5, 2] for number in range(len(limits))], CPU)
    search = Search(beam=1, length_penalty=1.0, stop="enough")
    beams = beam_search(model, source, limits=limits, symbols=SYMBOLS, search=search)
    paths = greedy(model, source, limits=limits, symbols=SYMBOLS)
    assert [found.ids for found in beams] == [found.ids for found in paths]
    assert [found.score for found in beams] == pytest.approx([found.score for found in paths])
    assert [found.normalised for found in beams] == pytest.approx([found.normalised for found in paths])


class Table:
    """Every hypothesis gets the same logits at every step."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits)
        self.num_steps = 0

    def open_session(self, source, *, rows, width, max_length):
        self.rows, self.width = rows, width
        return self

    def step(self, tokens):
        self.num_steps += 1
        return self.logits.expand(self.rows, self.width, -1)

    def reorder(self, parents):
        assert parents.shape == (self.rows, self.width)

    def keep(self, rows):
        self.rows = len(rows)


def test_scores_that_are_no_numbers_stop_the_search_with_a_reason():
    model = Table([0.0, 0.0, 0.0, float("nan")])
    with pytest.raises(RunFailed, match=r"NaN in 2 of 2 rows"):
        beam_search(model, stream_of([[2], [2]], CPU), limits=[900, 900], symbols=SYMBOLS, search=Search())
    assert model.num_steps < 10


def test_infinite_logits_stop_it_too():
    with pytest.raises(RunFailed, match="NaN"):
        beam_search(
            Table([0.0, 0.0, 0.0, float("inf")]),
            stream_of([[2]], CPU),
            limits=[90],
            symbols=SYMBOLS,
            search=Search(),
        )


def test_a_model_that_never_ends_is_stopped_at_its_limit_and_pays_for_the_end():
    (found,) = beam_search(
        Table([-99.0, -99.0, -50.0, 0.0]),
        stream_of([[2]], CPU),
        limits=[7],
        symbols=SYMBOLS,
        search=Search(beam=2),
    )
    assert found.ids == [3] * 6
    assert found.score == pytest.approx(-50.0)
    assert found.normalised == pytest.approx(-50.0 / 7)


def test_where_every_sentence_has_probability_zero_the_row_is_empty_with_a_score_of_minus_infinity():
    never = float("-inf")
    (found,) = beam_search(
        Table([never, never, never, 0.0]), stream_of([[2]], CPU), limits=[5], symbols=SYMBOLS, search=Search()
    )
    assert found.ids == []
    assert found.score == never


def test_an_end_that_cannot_be_beaten_stops_the_search_long_before_the_limit():
    model = Table([-99.0, -99.0, 0.0, -40.0])
    (found,) = beam_search(model, stream_of([[2]], CPU), limits=[36], symbols=SYMBOLS, search=Search())
    assert found.ids == []
    assert model.num_steps == check_interval(CPU)[0]  # the first look


def test_no_rows_give_no_hypotheses():
    assert (
        beam_search(Table([0.0] * 4), stream_of([], CPU), limits=[], symbols=SYMBOLS, search=Search()) == []
    )


def test_rows_that_are_done_leave_the_batch():
    model = RecurrentModel(5, vocabulary=9)
    rows = [[3, 4], [5], [6, 7, 8], [3]]
    session_rows = []

    class Watched:
        def open_session(self, source, *, rows, width, max_length):
            session = model.open_session(source, rows=rows, width=width, max_length=max_length)
            step = session.step

            def watched_step(tokens):
                session_rows.append(tokens.shape[0])
                return step(tokens)

            session.step = watched_step
            return session

    beam_search(Watched(), stream_of(rows, CPU), limits=[3, 6, 9, 40], symbols=SYMBOLS, search=Search())
    assert session_rows[0] == 4
    assert session_rows[-1] < 4
    assert session_rows == sorted(session_rows, reverse=True)
