import math

import pytest

from trimtab.export.ctranslate2.search_end import Seen, Wanted, Written


def written(length, score, **said):
    return Written([f"p{number}" for number in range(length)], score, **said)


def wanted(**said):
    return Wanted(**{"beam": 2, "n": 1, "length_penalty": 1.0, "exact": True, **said})


def test_an_open_hypothesis_that_could_still_win_keeps_a_row_going():
    ended, still_open = written(3, -4.0), written(5, -9.9)
    # At the limit of 10 symbols it would have at best -0.99 a symbol, and the finished one has -1.
    assert wanted().finished(Seen([ended], [still_open], -9.9), capacity=9) == []
    assert wanted().finished(Seen([ended], [still_open], -9.9), capacity=8) == [ended]


def test_what_the_last_step_did_not_tell_is_no_better_than_the_lowest_that_it_told():
    ended = [written(3, -4.0), written(4, -5.0)]
    assert wanted().finished(Seen(ended, [], -5.0), capacity=9) == []
    assert wanted().finished(Seen(ended, [], -50.0), capacity=9) == [ended[0]]


def test_for_n_best_the_last_of_them_must_be_out_of_reach():
    ended = [written(3, -4.0), written(3, -8.0)]
    seen = Seen(ended, [written(5, -15.0)], -15.0)
    assert wanted().finished(seen, capacity=9) == [ended[0]]
    assert wanted(n=2).finished(seen, capacity=9) == []
    assert wanted(n=3).finished(Seen(ended, [], -math.inf), capacity=9) == []


def test_enough_is_as_many_as_the_beam_and_nothing_later():
    ended = [written(7, -1.0), written(3, -4.0), written(4, -5.5)]
    assert wanted(exact=False).finished(Seen(ended, [written(9, -1.0)], -1.0), capacity=20) == [ended[1]]
    assert wanted(exact=False).finished(Seen(ended[:1], [], -1.0), capacity=20) == []


def test_a_greedy_row_is_settled_when_it_has_ended():
    assert wanted(beam=1).finished(Seen([], [written(5, -1.0)], -1.0), capacity=9) == []
    assert wanted(beam=1).finished(Seen([written(2, -1.0)], [], -1.0), capacity=9) == [written(2, -1.0)]


def test_at_the_limit_what_is_open_ends_once():
    ended, still_open = written(3, -4.0), written(5, -9.0, is_whole=False)
    twice = [still_open, Written(still_open.pieces, -9.5, is_whole=False)]
    found = wanted().at_the_limit([ended], twice)
    assert [each.pieces for each in found] == [ended.pieces, still_open.pieces]
    assert not found[1].is_whole
    same = Written(ended.pieces, -3.0, is_whole=False)
    assert wanted().at_the_limit([ended], [same]) == [ended]


def test_a_step_before_a_hypothesis_had_one_piece_less():
    shorter = written(3, -4.0).without_its_last()
    assert shorter.pieces == ["p0", "p1"]
    assert not shorter.is_whole


def test_scores_are_compared_by_their_length_with_the_end():
    assert wanted(length_penalty=0.0).normalised(written(3, -4.0)) == -4.0
    assert wanted(length_penalty=2.0).normalised(written(3, -4.0)) == pytest.approx(-0.25)
