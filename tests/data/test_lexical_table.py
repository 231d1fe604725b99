from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.data import lexical_table
from trimtab.data.lexical_table import LexicalTable, estimate_lexical_table
from trimtab.types import Ragged

NULL = "null"


def slow_table(pairs, iterations):
    """Brown et al., word by word."""
    likely = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            words = [NULL, *source]
            for into in target:
                total = sum(likely[word, into] for word in words)
                for word in words:
                    counts[word, into] += likely[word, into] / total
                    totals[word] += likely[word, into] / total
        likely = defaultdict(float, {(word, into): n / totals[word] for (word, into), n in counts.items()})
    return dict(likely)


def fast_table(pairs, iterations, *, sources=8, targets=9):
    return estimate_lexical_table(
        Ragged.of([source for source, _ in pairs]),
        Ragged.of([target for _, target in pairs]),
        num_source_ids=sources,
        num_target_ids=targets,
        iterations=iterations,
    )


def as_dict(table):
    found = {}
    for source, (start, stop) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        word = NULL if source == len(table.offsets) - 2 else source
        for place in range(start, stop):
            found[word, int(table.targets[place])] = float(table.probabilities[place])
    return found


rows = st.lists(
    st.tuples(st.lists(st.integers(0, 7), max_size=5), st.lists(st.integers(0, 8), max_size=5)), max_size=6
)


@pytest.mark.parametrize("at_once", [1, 7, 2**22])
def test_the_table_is_that_of_the_words_one_by_one(at_once, monkeypatch):
    monkeypatch.setattr(lexical_table, "PAIRS_AT_ONCE", at_once)

    @given(rows)
    def check(pairs):
        assert as_dict(fast_table(pairs, 3)) == pytest.approx(slow_table(pairs, 3), rel=1e-9)

    check()


def test_the_table_finds_which_word_is_which():
    # Das Haus / das Buch / ein Buch, the example that Brown et al. are usually explained by.
    pairs = [([0, 1], [0, 1]), ([0, 2], [0, 2]), ([3, 2], [3, 2])]
    best = fast_table(pairs, 20).best(1)
    assert [best.row(word).tolist() for word in range(4)] == [[0], [1], [2], [3]]
    assert len(best) == 8
    assert best.row(7).tolist() == []


def test_the_best_are_the_likeliest_and_ties_are_in_the_order_of_ids():
    table = LexicalTable(
        offsets=np.array([0, 4, 4, 6, 7]),
        targets=np.array([1, 3, 5, 7, 0, 2, 4], np.int32),
        probabilities=np.array([0.1, 0.4, 0.4, 0.1, 0.01, 0.99, 1.0]),
    )
    assert [table.best(3).row(id).tolist() for id in range(3)] == [[3, 5, 1], [], [2, 0]]
    assert [table.best(9, least=0.2).row(id).tolist() for id in range(3)] == [[3, 5], [], [2]]


def test_no_pairs_make_an_empty_table():
    table = fast_table([], 2)
    assert len(table.targets) == 0
    assert len(table.best(5)) == 8
