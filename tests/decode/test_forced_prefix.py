import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.beam_search import slow_beam_search
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search
from trimtab.decode.constraints import Constraints
from trimtab.decode.forced_prefix import ForcedPrefix
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))
NEVER = float("-inf")
rows_of_ids = st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=5), min_size=1, max_size=7)


def forced(prefixes):
    return Constraints.of(prefixes, device=CPU)


@pytest.mark.slow
@given(data=st.data(), seed=st.integers(0, 10_000), rows=rows_of_ids, beam=st.integers(1, 4))
def test_the_beginning_of_what_is_found_anyway_gives_the_same(data, seed, rows, beam):
    model, source = RecurrentModel(seed, vocabulary=8), stream_of(rows, CPU)
    limits = [9] * len(rows)
    if beam == 1:
        free = greedy(model, source, limits=limits, symbols=SYMBOLS)
    else:
        free = beam_search(model, source, limits=limits, symbols=SYMBOLS, search=Search(beam=beam))
    prefixes = [each.ids[: data.draw(st.integers(0, len(each.ids)))] for each in free]
    paths = greedy(model, source, limits=limits, symbols=SYMBOLS, constraints=forced(prefixes))
    for found, own, prefix in zip(paths, free, prefixes, strict=True):
        assert found.ids[: len(prefix)] == prefix
        if beam == 1:
            assert found.ids == own.ids
            assert found.score == pytest.approx(own.score)
    if beam > 1:
        held = beam_search(
            model,
            source,
            limits=limits,
            symbols=SYMBOLS,
            search=Search(beam=beam),
            constraints=forced(prefixes),
        )
        # The beam may find something better once its places are free of other beginnings.
        for found, own, prefix in zip(held, free, prefixes, strict=True):
            assert found.ids[: len(prefix)] == prefix
            if prefix == own.ids:
                assert found.normalised >= own.normalised - 1e-9


@pytest.mark.slow
@given(data=st.data(), seed=st.integers(0, 10_000), rows=rows_of_ids, beam=st.integers(1, 4))
def test_behind_the_prefix_it_finds_what_the_plain_search_from_there_finds(data, seed, rows, beam):
    model = RecurrentModel(seed, vocabulary=8)
    prefix_ids = st.lists(st.sampled_from([0, 1, 3, 4, 5, 6, 7]), max_size=4)
    prefixes = [data.draw(prefix_ids) for _ in rows]
    limits = [len(prefix) + data.draw(st.integers(1, 6)) for prefix in prefixes]
    search = Search(beam=beam)
    found = beam_search(
        model,
        stream_of(rows, CPU),
        limits=limits,
        symbols=SYMBOLS,
        search=search,
        constraints=forced(prefixes),
    )
    for hypothesis, row, limit, prefix in zip(found, rows, limits, prefixes, strict=True):
        before = sum(
            model.log_probabilities(row, [SYMBOLS.start, *prefix[:place]])[symbol]
            for place, symbol in enumerate(prefix)
        )
        expected = slow_beam_search(
            lambda ids, row=row, prefix=prefix: model.log_probabilities(row, [SYMBOLS.start, *prefix, *ids]),
            beam=beam,
            length_penalty=1.0,
            limit=limit - len(prefix),
            end=SYMBOLS.end,
            suppress=SYMBOLS.suppress,
            begun=(len(prefix), before),
        )
        assert hypothesis.ids == prefix + expected.ids
        assert hypothesis.score == pytest.approx(expected.score, rel=1e-9)


def test_rows_beyond_their_prefix_and_rows_without_one_stay_as_they_are():
    scores, logits = torch.randn(3, 2, 5), torch.randn(3, 2, 5)
    prefix = ForcedPrefix.of([[4, 3], [], [2]], device=CPU)
    first = prefix.apply(scores, logits=logits, step=0)
    assert torch.equal(first[1], scores[1])
    assert (first[0] > NEVER).nonzero().tolist() == [[0, 4], [1, 4]]
    assert torch.equal(first[2, :, 2], logits.log_softmax(-1)[2, :, 2])
    assert torch.equal(prefix.apply(scores, logits=logits, step=1)[1:], scores[1:])
    assert prefix.apply(scores, logits=logits, step=2) is scores
    prefix.keep(torch.tensor([2]))
    assert (prefix.apply(scores[:1], logits=logits[:1], step=0) > NEVER).nonzero().tolist() == [
        [0, 0, 2],
        [0, 1, 2],
    ]


def test_a_symbol_that_the_model_thinks_impossible_is_forced_all_the_same():
    class Table:
        def open_session(self, source, *, rows, width, max_length):
            return self

        def step(self, tokens):
            return torch.tensor([0.0, 0.0, 0.0, NEVER, 1.0]).expand(1, tokens.shape[1], -1)

        def reorder(self, parents):
            assert parents.shape[0] == 1

        def keep(self, rows):
            raise AssertionError("there is one row")

    source, limits = stream_of([[2]], CPU), [5]
    for search in (Search(beam=1), Search(beam=3)):
        (found,) = beam_search(
            Table(), source, limits=limits, symbols=SYMBOLS, search=search, constraints=forced([[3, 3]])
        )
        assert found.ids[:2] == [3, 3]
    (found,) = greedy(Table(), source, limits=limits, symbols=SYMBOLS, constraints=forced([[3, 3]]))
    assert found.ids[:2] == [3, 3]
