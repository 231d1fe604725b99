import pytest

from trimtab.fit.placement import Instance, Placement, TaskToPlace, data_parallel, least_communicated


def task(name, work, *needs):
    return TaskToPlace(name, work, frozenset(needs))


TWO = Instance((task("a", 1.0, "shared", "own"), task("b", 3.0, "shared")), {"shared": 100, "own": 10}, 2)


def test_a_component_costs_what_a_ring_between_its_holders_sends():
    placement = Placement(TWO, ({0: 1.0, 1: 1.0}, {1: 2.0}))
    assert placement.holders == {"shared": 2, "own": 1}
    assert placement.communicated == 2 * (2 - 1) * 100
    assert placement.communicated_by_rank == [100, 100]
    assert placement.held_bytes == [110, 100]
    assert placement.waiting == 0


def test_ranks_wait_for_the_one_with_the_most_work():
    assert Placement(TWO, ({0: 1.0}, {1: 3.0})).waiting == pytest.approx(1 - 4 / (2 * 3))


def test_data_parallelism_has_everything_everywhere():
    placement = data_parallel(TWO)
    assert placement.holders == {"shared": 2, "own": 2}
    assert (placement.communicated, placement.waiting) == (220, pytest.approx(0))


def test_the_bound_counts_the_ranks_that_the_work_of_a_component_fills():
    assert least_communicated(TWO) == 2 * 1 * 100  # `own` has half a rank of work
    assert least_communicated(Instance(TWO.tasks, TWO.bytes_of, 1)) == 0
    assert least_communicated(Instance(TWO.tasks, TWO.bytes_of, 8)) == 2 * 7 * 100 + 2 * 1 * 10


def test_ranks_that_one_decoder_does_not_fill_hold_two():
    tasks = tuple(task(f"t{number}", 0.7, "shared", f"decoder.{number}") for number in range(10))
    sizes = {"shared": 100, **{f"decoder.{number}": 10 for number in range(10)}}
    instance = Instance(tasks, sizes, 7, slack=0.0)
    # Ten decoders on seven full ranks: each rank holds at least two, so at least four decoders are on two.
    assert least_communicated(instance) == 2 * 6 * 100 + 2 * 4 * 10
    assert least_communicated(Instance(tasks, sizes, 10, slack=0.0)) == 2 * 9 * 100  # one on each
