import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.candidate import Candidate, join_best, join_samples

lists = st.lists(
    st.lists(st.floats(-9, 0), min_size=1, max_size=4).map(lambda scores: sorted(scores, reverse=True)),
    min_size=1,
    max_size=4,
)


def candidates(scores, *, letter):
    return [
        Candidate(text=f"{letter}{place}", score=score, log_probability=3 * score, num_tokens=3)
        for place, score in enumerate(scores)
    ]


@given(scores=lists, n=st.integers(1, 6))
def test_pieces_are_joined_to_the_n_best_of_all_combinations(scores, n):
    pieces = [candidates(each, letter="abcd"[number]) for number, each in enumerate(scores)]
    every = sorted(
        (sum(combination) / len(scores) for combination in itertools.product(*scores)), reverse=True
    )
    best = join_best(pieces, n=n)
    assert [each.score for each in best] == pytest.approx(every[:n])
    assert best[0].text == "".join(piece[0].text for piece in pieces)
    for each in best:
        assert each.log_probability == pytest.approx(3 * len(pieces) * each.score)
        assert each.num_tokens == 3 * len(pieces)


def test_samples_of_pieces_are_joined_one_with_one():
    first, second = candidates([-2.0, -1.0], letter="a"), candidates([-4.0, -6.0], letter="b")
    assert [(each.text, each.score) for each in join_samples([first, second])] == [
        ("a0b0", -3.0),
        ("a1b1", -3.5),
    ]
    assert join_samples([first]) == first
