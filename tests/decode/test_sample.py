import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.constraints import Constraints
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.sample import Draw, chosen_by, sample, uniform_numbers
from trimtab.decode.sampling import Sampling, allowed_probabilities
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.errors import RunFailed

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))


def samples(model, rows, *, limits, n=1, draws=None, constraints=None, **options):
    search = Search(sampling=Sampling(**options))
    assert search.sampling is not None
    draws = draws or [Draw(number) for number in range(len(rows))]
    uniforms = uniform_numbers(draws, seed=search.sampling.seed, samples=n, length=max(limits))
    return sample(
        model,
        stream_of(rows, CPU),
        limits=limits,
        symbols=SYMBOLS,
        search=search,
        uniforms=uniforms,
        constraints=constraints,
    )


def chi_square(counts: Counter, probabilities: dict) -> tuple[float, int]:
    """The statistic over cells of at least five expected, the others as one; and its degrees of freedom."""
    total = sum(counts.values())
    cells = [(counts[key], total * p) for key, p in probabilities.items() if total * p >= 5]
    rest = total - sum(expected for _, expected in cells)
    cells.append((total - sum(seen for seen, _ in cells), rest))
    return sum((seen - expected) ** 2 / expected for seen, expected in cells if expected > 0), len(cells) - 1


def of_sentences(model, row, *, limit, sampling):
    """The probability of every sentence within the limit, by the model's softmax step by step."""
    found, open_ones = {}, [((), 1.0)]
    for length in range(1, limit + 1):
        longer = []
        for ids, probability in open_ones:
            scores = torch.tensor(model.log_probabilities(row, [SYMBOLS.start, *ids]), dtype=torch.float64)
            scores[list(SYMBOLS.suppress)] = -math.inf
            if length == limit:
                scores[[symbol for symbol in range(len(scores)) if symbol != SYMBOLS.end]] = -math.inf
            each = allowed_probabilities(scores[None, None], sampling)[0, 0].tolist()
            found[ids] = probability * each[SYMBOLS.end]
            longer += [
                ((*ids, symbol), probability * p)
                for symbol, p in enumerate(each)
                if symbol != SYMBOLS.end and p
            ]
        open_ones = longer
    return found


@pytest.mark.quick("{'epsilon': 0.05}")
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.9}, {"epsilon": 0.05}],
    ids=str,
)
def test_sentences_come_as_often_as_the_model_says(options):
    model, limit, num_rows, n = RecurrentModel(4, vocabulary=6, sharpness=0.5), 4, 80, 50
    found = samples(model, [[3, 4]] * num_rows, limits=[limit] * num_rows, n=n, **options)
    counts = Counter(tuple(each.ids) for few in found for each in few)
    expected = of_sentences(model, [3, 4], limit=limit, sampling=Sampling(**options))
    assert sum(expected.values()) == pytest.approx(1)
    assert set(counts) <= {ids for ids, p in expected.items() if p > 0}
    statistic, freedom = chi_square(counts, expected)
    # Wilson and Hilferty's approximation; 4 standard deviations are one in thirty thousand, and the seed is fixed.
    bound = freedom * (1 - 2 / (9 * freedom) + 4 * math.sqrt(2 / (9 * freedom))) ** 3
    assert freedom >= 2
    assert statistic < bound


@given(seed=st.integers(0, 10_000), limits=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_the_likeliest_one_alone_is_greedy_and_so_is_its_score(seed, limits):
    model = RecurrentModel(seed, vocabulary=8)
    rows = [[3 + number % 5, 2] for number in range(len(limits))]
    paths = greedy(model, stream_of(rows, CPU), limits=limits, symbols=SYMBOLS)
    drawn = samples(model, rows, limits=limits, n=2, top_k=1, temperature=3.0, seed=seed)
    for few, best in zip(drawn, paths, strict=True):
        assert [each.ids for each in few] == [best.ids] * 2
        assert [each.score for each in few] == pytest.approx([best.score] * 2, rel=1e-6)
        assert few[0].normalised == pytest.approx(best.normalised, rel=1e-6)


@given(data=st.data(), seed=st.integers(0, 10_000), n=st.integers(1, 4))
def test_a_row_is_drawn_alike_alone_and_among_others(data, seed, n):
    model = RecurrentModel(seed, vocabulary=8, sharpness=1.0)
    rows = data.draw(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4), min_size=2, max_size=6))
    limits = data.draw(st.lists(st.integers(1, 15), min_size=len(rows), max_size=len(rows)))
    together = samples(model, rows, limits=limits, n=n, seed=seed)
    for number in data.draw(st.permutations(range(len(rows)))):
        (alone,) = samples(
            model, [rows[number]], limits=[limits[number]], n=n, seed=seed, draws=[Draw(number)]
        )
        assert [each.ids for each in alone] == [each.ids for each in together[number]]
        (more,) = samples(
            model, [rows[number]], limits=[limits[number]], n=n + 1, seed=seed, draws=[Draw(number)]
        )
        assert [each.ids for each in more[:n]] == [each.ids for each in alone]


def test_seed_line_piece_and_sample_each_change_what_is_drawn():
    base = uniform_numbers([Draw(5, 1)], seed=3, samples=2, length=8)
    assert torch.equal(base, uniform_numbers([Draw(5, 1)], seed=3, samples=2, length=12)[..., :8])
    others = [
        uniform_numbers([Draw(5, 1)], seed=4, samples=1, length=8)[0, 0],
        uniform_numbers([Draw(6, 1)], seed=3, samples=1, length=8)[0, 0],
        uniform_numbers([Draw(5, 2)], seed=3, samples=1, length=8)[0, 0],
        base[0, 1],
    ]
    assert all(not torch.equal(base[0, 0], other) for other in others)


@given(
    weights=st.lists(st.integers(0, 5), min_size=2, max_size=9).filter(any),
    u=st.floats(0, 1, exclude_max=True),
)
def test_a_symbol_is_chosen_in_its_own_stretch_of_the_interval(weights, u):
    probabilities = torch.tensor(weights, dtype=torch.float64) / sum(weights)
    symbol = int(chosen_by(torch.tensor([[u]], dtype=torch.float64), probabilities[None, None]))
    before = sum(weights[:symbol]) / sum(weights)
    assert weights[symbol] > 0
    assert before - 1e-9 <= u <= before + weights[symbol] / sum(weights) + 1e-9


def test_samples_obey_constraints_and_never_hold_what_is_suppressed():
    model = RecurrentModel(9, vocabulary=6, sharpness=0.5)
    bar = Constraints.of([[4, 3]] * 20, no_repeat_ngram=1, device=CPU)
    for few in samples(model, [[3]] * 20, limits=[12] * 20, n=3, constraints=bar):
        for each in few:
            assert each.ids[:2] == [4, 3]
            assert len(set(each.ids)) == len(each.ids)
            assert not {0, 1, 2} & set(each.ids)


class Logits:
    def __init__(self, logits):
        self.logits = torch.tensor(logits)

    def open_session(self, source, *, rows, width, max_length):
        self.rows, self.width = rows, width
        return self

    def step(self, tokens):
        return self.logits.expand(self.rows, self.width, -1)

    def reorder(self, parents):
        raise AssertionError("samples continue in their order")

    def keep(self, rows):
        self.rows = len(rows)


def test_scores_that_are_no_numbers_stop_the_drawing_with_a_reason():
    with pytest.raises(RunFailed, match="scores are NaN"):
        samples(Logits([math.nan] * 5), [[2]], limits=[50])


def test_an_end_of_probability_zero_is_forced_at_the_limit():
    drawn = samples(Logits([0.0, 0.0, -math.inf, 0.0, 5.0]), [[2], [2]], limits=[3, 9])
    assert [len(few[0].ids) for few in drawn] == [2, 8]
    assert drawn[0][0].score == -math.inf


def test_no_rows_give_no_samples():
    search = Search(sampling=Sampling())
    empty = uniform_numbers([], seed=1, samples=1, length=1)
    assert (
        sample(Logits([0.0]), stream_of([], CPU), limits=[], symbols=SYMBOLS, search=search, uniforms=empty)
        == []
    )
