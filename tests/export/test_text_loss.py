import pytest

from trimtab.export.text_loss import text_loss

OURS = ["das alte schiff dreht sich langsam im wind", "ja", "die see ist ruhig an diesem tag"]


def test_the_same_text_loses_nothing_even_where_it_is_too_short_for_bleu():
    loss = text_loss(["ja", "nein"], ["ja", "nein"], references=["ja", "ja"], most=0.0)
    assert (loss.bleu, loss.chrf, loss.changed) == (100.0, 100.0, 0.0)
    assert loss.is_within


def test_a_changed_line_is_counted_and_scored_both_ways():
    theirs = [OURS[0].replace("langsam", "schnell"), *OURS[1:]]
    loss = text_loss(OURS, theirs, references=OURS, most=50.0)
    assert loss.changed == pytest.approx(1 / 3)
    assert 50 < loss.bleu < 100
    assert 50 < loss.chrf < 100
    assert (loss.bleu_before, loss.chrf_before) == (pytest.approx(100), pytest.approx(100))
    assert (loss.bleu_after, loss.chrf_after) == (pytest.approx(loss.bleu), pytest.approx(loss.chrf))
    assert loss.is_within


def test_a_loss_above_what_was_stated_is_none_that_passes():
    theirs = ["nichts davon", "nein", "gar nichts"]
    assert not text_loss(OURS, theirs, references=OURS, most=10.0).is_within
    assert text_loss(OURS, theirs, references=OURS, most=100.0).is_within


def test_people_see_points_and_lines():
    told = " ".join(text_loss(OURS, [OURS[0], "nein", OURS[2]], references=OURS, most=10.0).render())
    assert "at least 90.0" in told
    assert "33.3% of the lines changed" in told
