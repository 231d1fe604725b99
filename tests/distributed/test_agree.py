import pytest

from tests.fake_ranks import Twins, Unasked
from tests.for_each import for_each
from tests.images import image_batches
from trimtab.distributed.agree import any_rank, broadcast_from_first, first_rank_first, in_turn, micro_batches
from trimtab.errors import RunFailed
from trimtab.types import fill


class Beside(Twins):
    """A rank beside another one, whose numbers are known."""

    def __init__(self, *theirs, rank=1):
        self.rank, self.is_first, self.theirs, self.mine = rank, rank == 0, theirs, []

    def sum_ints(self, numbers, *, patient=False):
        self.mine.append(tuple(numbers))
        return [int(one) + other for one, other in zip(numbers, self.theirs, strict=True)]

    def broadcast(self, tensors):
        for tensor, number in zip(tensors, self.theirs, strict=True):
            tensor.fill_(number)


def test_one_rank_is_asked_nothing():
    batches = image_batches(3, 2)
    assert any_rank(True, Unasked()) is True
    assert broadcast_from_first(0.1, Unasked()) == 0.1
    assert micro_batches(batches, Unasked()) == (2, fill(batches))
    assert first_rank_first(Unasked(), lambda: "done") == "done"


@for_each(("mine", "theirs"), [(True, 0), (False, 1), (True, 1), (False, 0)])
def test_a_flag_of_any_rank_is_one_of_all(mine, theirs):
    assert any_rank(mine, Beside(theirs)) == (mine or bool(theirs))


def test_a_clock_is_that_of_the_first_rank_to_the_last_bit():
    assert broadcast_from_first(7.0, Beside(0.1)) == 0.1


def test_micro_batches_are_counted_over_ranks_and_a_rank_may_have_none():
    batches = image_batches(3, 2)
    tokens, slots = (sum(getattr(each, name) for each in batches) for name in ("num_tokens", "num_slots"))
    assert micro_batches(batches, Beside(1, 5, slots)) == (3, (tokens + 5) / (2 * slots))
    assert micro_batches([], Beside(2, tokens, slots)) == (2, tokens / slots)


def test_the_first_rank_works_before_the_others_and_tells_them_how_it_went():
    first = Beside(0, rank=0)
    assert first_rank_first(first, lambda: len(first.mine)) == 0
    assert first.mine == [(0,)]
    other = Beside(0)
    assert first_rank_first(other, lambda: len(other.mine)) == 1
    assert first_rank_first(Beside(0), lambda: "work", then=lambda: "read") == "read"


def test_what_fails_on_the_first_rank_fails_on_all():
    first = Beside(0, rank=0)
    with pytest.raises(ZeroDivisionError):
        first_rank_first(first, lambda: 1 / 0)
    assert first.mine == [(1,)]
    with pytest.raises(RunFailed, match="rank 0 failed"):
        first_rank_first(Beside(1), lambda: "never")


class Third(Beside):
    """The last of three ranks, which hears what the others found."""

    world_size = 3

    def gather(self, content):
        return [*self.theirs, content]


def test_items_are_taken_in_turn_and_each_rank_has_all_results():
    rank = Third(["a0", "a3"], ["a1", "a4"], rank=2)
    assert in_turn(lambda some: [f"a{each}" for each in some], [0, 1, 2, 3, 4], rank) == [
        f"a{i}" for i in range(5)
    ]
    assert in_turn(lambda some: some[:], [3, 4], Unasked()) == [3, 4]
    assert in_turn(lambda some: some[:], [], Third([], [], rank=2)) == []
