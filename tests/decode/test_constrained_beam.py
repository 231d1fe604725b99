import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.constrained_beam_search import met_terms, slow_constrained_beam_search
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search, n_best_beam_search
from trimtab.decode.constrained_beam import choose, constrained_beam_search
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.lexical_constraints import Spelling, TermTables, tokens_needed
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))
VOCABULARY = 9
OPENS_WORD = [True, True, True, False, True, False, False, True, False]


ids_of_terms = st.lists(st.integers(3, VOCABULARY - 1), min_size=1, max_size=3).map(tuple)
spellings = st.lists(st.tuples(ids_of_terms, st.booleans()), max_size=2)
plain_terms = st.lists(
    st.tuples(ids_of_terms, spellings).map(lambda drawn: [(drawn[0], True), *drawn[1]]), max_size=3
)


def tables(terms) -> TermTables:
    return TermTables.of(terms, opens_word=torch.tensor(OPENS_WORD))


@pytest.mark.slow
@given(
    data=st.data(),
    seed=st.integers(0, 10_000),
    beam=st.integers(1, 5),
    length_penalty=st.sampled_from([0.0, 1.0]),
)
def test_all_terms_come_as_the_plain_python_search_finds_them(data, seed, beam, length_penalty):
    model = RecurrentModel(seed, vocabulary=VOCABULARY)
    rows = data.draw(
        st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=4), min_size=1, max_size=4)
    )
    plain = [data.draw(plain_terms) for _ in rows]
    terms = [[tuple(Spelling(*each) for each in term) for term in row] for row in plain]
    limits = [tokens_needed(row) + data.draw(st.integers(1, 5)) for row in terms]
    search = Search(beam=beam, length_penalty=length_penalty)
    found = constrained_beam_search(
        model,
        stream_of(rows, CPU),
        limits=limits,
        symbols=SYMBOLS,
        search=search,
        terms=tables(terms),
    )
    for (hypothesis,), row, of_row, limit in zip(found, rows, plain, limits, strict=True):
        met = met_terms(hypothesis.ids, of_row, start=SYMBOLS.start, opens_word=OPENS_WORD)
        assert met == set(range(len(of_row)))
        expected = slow_constrained_beam_search(
            lambda ids, row=row: model.log_probabilities(row, [SYMBOLS.start, *ids]),
            of_row,
            beam=beam,
            length_penalty=length_penalty,
            limit=limit,
            start=SYMBOLS.start,
            end=SYMBOLS.end,
            suppress=SYMBOLS.suppress,
            opens_word=OPENS_WORD,
        )
        assert hypothesis.ids == expected.ids
        assert hypothesis.score == pytest.approx(expected.score, rel=1e-9)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    beam=st.integers(1, 5),
    stop=st.sampled_from(["exact", "enough"]),
    block=st.sampled_from([None, 2]),
)
def test_a_search_without_terms_is_the_plain_one(seed, beam, stop, block):
    model = RecurrentModel(seed, vocabulary=VOCABULARY)
    source, limits = stream_of([[3, 4], [5], [6, 7, 8]], CPU), [9, 4, 12]
    search = Search(beam=beam, stop=stop)
    shared = {"limits": limits, "symbols": SYMBOLS, "search": search}
    free = {**shared, "terms": tables([[], [], []])}
    assert constrained_beam_search(model, source, **free) == [
        [best] for best in beam_search(model, source, **shared)
    ]
    several = constrained_beam_search(model, source, **free, n=beam)
    if beam > 1:
        assert several == n_best_beam_search(model, source, **shared, n=beam)


def test_every_candidate_has_the_terms_and_they_may_repeat_what_is_blocked():
    model = RecurrentModel(3, vocabulary=VOCABULARY)
    term = (Spelling((5, 5, 5)),)
    (found,) = constrained_beam_search(
        model,
        stream_of([[3, 4]], CPU),
        limits=[10],
        symbols=SYMBOLS,
        search=Search(beam=4, no_repeat_ngram=1),
        terms=tables([[term]]),
        n=3,
    )
    assert len(found) > 1
    assert all("5, 5, 5" in str(each.ids) for each in found)


def test_banks_share_the_beam_and_the_rest_goes_to_those_that_lack_least():
    totals = torch.tensor([[-1.0, -2.0, -3.0, float("-inf"), -5.0, -6.0]])
    missing = torch.tensor([[2, 2, 2, 0, 1, 0]])
    assert choose(totals, missing, beam=3, most_missing=2).tolist() == [[0, 4, 5]]
    assert choose(totals, missing, beam=4, most_missing=2).tolist() == [[0, 1, 4, 5]]
    assert choose(totals, missing, beam=2, most_missing=2).tolist() == [[4, 5]]
    assert choose(totals, missing, beam=1, most_missing=2).tolist() == [[5]]
