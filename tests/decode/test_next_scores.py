import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.hypothesis import Symbols
from trimtab.decode.next_scores import next_scores

NEVER = float("-inf")


def test_suppressed_symbols_are_out_of_reach_and_the_others_keep_their_log_probabilities():
    logits = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    scores = next_scores(logits, symbols=Symbols(start=1, end=2, suppress=(0, 1)))
    assert (scores[..., :2] == NEVER).all()
    assert torch.equal(scores[..., 2:], logits.log_softmax(-1)[..., 2:])


@given(st.sets(st.integers(0, 8)).map(sorted).map(tuple))
def test_any_symbols_are_suppressed_and_no_others(suppress):
    logits = torch.randn(1, 2, 9, generator=torch.Generator().manual_seed(1))
    scores = next_scores(logits, symbols=Symbols(start=1, end=2, suppress=suppress))
    assert (scores == NEVER).nonzero()[:, 2].tolist() == list(suppress) * 2


def test_a_row_at_its_limit_can_only_end():
    logits = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    at_limit = torch.tensor([False, True])
    scores = next_scores(logits, symbols=Symbols(start=1, end=2), at_limit=at_limit)
    expected = logits.log_softmax(-1)
    assert torch.equal(scores[0], expected[0])
    assert torch.equal(scores[1, :, 2], expected[1, :, 2])
    assert (scores[1][:, [0, 1, 3, 4, 5]] == NEVER).all()


def test_the_logits_are_left_as_they_were():
    logits = torch.zeros(1, 1, 4)
    next_scores(logits, symbols=Symbols(start=1, end=2, suppress=(0,)), at_limit=torch.tensor([True]))
    assert (logits == 0).all()


def test_one_nan_shows_in_every_score_that_is_not_suppressed():
    logits = torch.tensor([[[0.0, 1.0, float("nan"), 2.0]]])
    scores = next_scores(logits, symbols=Symbols(start=1, end=3, suppress=(0, 1)))
    assert scores[0, 0, 2:].isnan().all()
