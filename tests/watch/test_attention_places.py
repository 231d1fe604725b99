import pytest
import torch

from tests.watch.test_attention import bounds
from trimtab.watch.attention import look_at_attention
from trimtab.watch.attention_places import PARTS, shares_of_parts, shares_of_tokens

IDS = torch.tensor([2, 20, 21, 22, 23, 24, 25, 26, 27, 3, 2, 30, 20, 32, 33, 34, 35, 36, 37, 38, 39, 3])
BOUNDS = bounds([10, 12])


def received(attracts):
    """What a head gives to tokens whose keys point where all queries do."""
    keys = torch.zeros(22, 1, 4)
    keys[attracts, 0, 0] = 100.0
    queries = torch.zeros(22, 1, 4)
    queries[..., 0] = 10.0
    return look_at_attention(queries, keys, of=BOUNDS, to=BOUNDS, max_seqlen=(12, 12), causal=False).received


def test_a_sink_is_named_by_its_token():
    found = shares_of_tokens([received(IDS == 2)], IDS, BOUNDS, piece=lambda id: f"<{id}>")
    assert next(iter(found.items())) == ("<2>", pytest.approx(1.0))


def test_attention_on_nothing_in_particular_is_spread_by_how_often_a_token_occurs():
    found = shares_of_tokens([received([])], IDS, BOUNDS)
    assert next(iter(found)) in ("2", "3", "20")
    assert found["2"] == pytest.approx((1 / 10 + 1 / 12) / 2, rel=1e-4)
    assert found["20"] == pytest.approx(found["2"], rel=1e-4)


def test_ids_without_a_spelling_have_their_number_and_those_of_one_spelling_are_added():
    each = shares_of_tokens([received([])], IDS, BOUNDS)
    found = shares_of_tokens([received([])], IDS, BOUNDS, piece=lambda id: "" if id < 4 else "same")
    assert found["2"] == each.pop("2")
    assert found["3"] == each.pop("3")
    assert found["same"] == pytest.approx(sum(each.values()))


def test_parts_of_a_text_are_counted_from_its_beginning():
    assert shares_of_parts([received(IDS == 2)], BOUNDS)["0 to 10%"] == pytest.approx(1.0)
    ends = shares_of_parts([received(IDS == 3)], BOUNDS)
    assert ends["90 to 100%"] == pytest.approx(1.0)
    assert len(ends) == PARTS
    even = shares_of_parts([received(IDS == 2), received(IDS == 3)], BOUNDS)
    assert (even["0 to 10%"], even["90 to 100%"]) == (pytest.approx(0.5), pytest.approx(0.5))


def test_rows_that_are_too_short_to_judge_give_nothing():
    short = look_at_attention(
        torch.randn(4, 1, 4),
        torch.randn(4, 1, 4),
        of=bounds([4]),
        to=bounds([4]),
        max_seqlen=(4, 4),
        causal=False,
    ).received
    assert shares_of_tokens([short], torch.arange(4), bounds([4])) == {}
    assert shares_of_parts([], BOUNDS) == {}
