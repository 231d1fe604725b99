"""Learning merges on arrays, against the obvious algorithm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.byte_pair_merges import merged, plain_merges
from trimtab.data import pair_merges
from trimtab.data.pair_merges import Segmented, learn_merges

TEXTS = st.lists(
    st.tuples(st.text(alphabet="aab c", min_size=1, max_size=24), st.integers(1, 5)), min_size=1, max_size=8
)


def bytes_alone() -> list[bytes]:
    return [bytes([each]) for each in range(256)]


def anything(piece: bytes) -> bool:
    return True


@given(texts=TEXTS, num=st.integers(0, 14), least=st.integers(1, 3))
def test_the_merges_are_those_of_counting_all_pairs_again_each_time(
    texts: list[tuple[str, int]], num: int, least: int
) -> None:
    rows, counts = [text.encode() for text, _ in texts], [count for _, count in texts]
    fast, slow = bytes_alone(), bytes_alone()
    found = learn_merges(Segmented.of_bytes(rows, counts), fast, num, may_merge=anything, least_count=least)
    expected = plain_merges(rows, counts, slow, num, may_merge=anything, least_count=least)
    assert (found, fast) == (expected, slow)


@settings(max_examples=15, deadline=None)
@given(texts=TEXTS)
def test_a_pair_that_may_not_merge_is_passed_over(texts: list[tuple[str, int]]) -> None:
    rows, counts = [text.encode() for text, _ in texts], [count for _, count in texts]
    fast, slow = bytes_alone(), bytes_alone()

    def without_spaces(piece: bytes) -> bool:
        return b" " not in piece

    found = learn_merges(Segmented.of_bytes(rows, counts), fast, 20, may_merge=without_spaces)
    assert found == plain_merges(rows, counts, slow, 20, may_merge=without_spaces)
    assert not any(b" " in piece for piece in fast[256:])


def test_pairs_too_rare_to_be_at_hand_are_found_once_they_are_the_most_frequent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_merges, "_SPARE", 1)
    built: list[int] = []
    index = pair_merges._Training._index

    def counted(training: pair_merges._Training, num_merges: int) -> None:
        index(training, num_merges)
        built.append(training.floor)

    monkeypatch.setattr(pair_merges._Training, "_index", counted)
    rng = np.random.default_rng(0)
    rows = [bytes((97 + np.minimum(rng.geometric(0.15, 40), 25)).tolist()) for _ in range(30)]
    fast, slow = bytes_alone(), bytes_alone()
    found = learn_merges(Segmented.of_bytes(rows, [1] * 30), fast, 90, may_merge=anything)
    assert found == plain_merges(rows, [1] * 30, slow, 90, may_merge=anything)
    assert len(found) == 90
    assert len(built) > 1
    assert built == sorted(built, reverse=True)


def test_of_a_run_every_second_pair_counts() -> None:
    pieces = bytes_alone()
    # "aaa" holds one pair that can be merged, twice 3 = 6, and "bb" one, 7 times.
    found = learn_merges(Segmented.of_bytes([b"aaa", b"bb"], [6, 7]), pieces, 1, may_merge=anything)
    assert found == [(98, 98)]
    assert merged([97, 97, 97], (97, 97), 5) == [5, 97]


def test_no_text_has_no_merges() -> None:
    assert learn_merges(Segmented.of_bytes([], []), bytes_alone(), 5, may_merge=anything) == []
