"""Placements against a search of all of them, and at the size of a cluster."""

import random
from itertools import combinations, combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.fit.place_tasks import place_tasks
from trimtab.fit.placement import Instance, TaskToPlace, data_parallel, least_communicated


def fits(instance, held):
    """Whether the work can be divided over ranks that hold these components: any set of tasks has to find as much
    capacity among the ranks that are open to one of them (Gale 1957)."""
    numbers = range(len(instance.tasks))
    for size in range(1, len(instance.tasks) + 1):
        for chosen in combinations(numbers, size):
            work = sum(instance.tasks[each].work for each in chosen)
            ranks = sum(any(instance.tasks[each].needs <= has for each in chosen) for has in held)
            if work > ranks * instance.capacity * (1 + 1e-9):
                return False
    return True


def least(instance):
    """The communication of the best placement, by trying every set of tasks on every rank."""
    numbers = range(len(instance.tasks))
    sets = {frozenset[str]()}
    for size in range(1, len(instance.tasks) + 1):
        sets |= {instance.needed(chosen) for chosen in combinations(numbers, size)}
    best = data_parallel(instance).communicated
    for held in combinations_with_replacement(sorted(sets, key=sorted), instance.ranks):
        cost = sum(
            2 * max(0, sum(name in has for has in held) - 1) * size
            for name, size in instance.bytes_of.items()
        )
        if cost < best and fits(instance, held):
            best = cost
    return best


@st.composite
def small_instances(draw):
    """Up to four tasks of a few components on two or three ranks."""
    names = ["shared", "x", "y", "z"][: draw(st.integers(1, 4))]
    tasks = tuple(
        TaskToPlace(
            f"t{number}",
            float(draw(st.integers(1, 9))),
            frozenset(draw(st.sets(st.sampled_from(names), min_size=1))),
        )
        for number in range(draw(st.integers(1, 4)))
    )
    used = sorted({name for each in tasks for name in each.needs})
    return Instance(tasks, {name: draw(st.integers(1, 50)) for name in used}, draw(st.integers(2, 3)))


def check(instance, placement):
    """All work is placed, within the capacity."""
    for number, task in enumerate(instance.tasks):
        assert sum(rank.get(number, 0.0) for rank in placement.work) == pytest.approx(task.work)
    for rank in placement.work:
        assert sum(rank.values()) <= instance.capacity * (1 + 1e-6)
        assert all(part > 0 for part in rank.values())
    assert least_communicated(instance) <= placement.communicated <= data_parallel(instance).communicated


@settings(max_examples=60)
@given(small_instances())
def test_a_small_placement_is_within_a_tenth_of_the_best_there_is(instance):
    placement = place_tasks(instance)
    check(instance, placement)
    best = least(instance)
    assert placement.communicated <= 1.1 * best
    assert least_communicated(instance) <= best


@st.composite
def instances_with_a_family(draw):
    """Up to four tasks on two or three ranks, each with one of several decoders and one of several encoders."""
    tasks = tuple(
        TaskToPlace(
            f"t{number}",
            float(draw(st.integers(1, 9))),
            frozenset(
                {
                    "shared",
                    f"decoder.{draw(st.sampled_from('abc'))}",
                    f"encoder.{draw(st.sampled_from('ab'))}",
                }
            ),
        )
        for number in range(draw(st.integers(2, 4)))
    )
    used = sorted({name for each in tasks for name in each.needs})
    sizes = {name: draw(st.integers(1, 50)) for name in used}
    return Instance(tasks, sizes, draw(st.integers(2, 3)), draw(st.sampled_from([0.05, 0.5])))


@settings(max_examples=60)
@given(instances_with_a_family())
def test_no_placement_of_families_is_below_the_bound(instance):
    assert least_communicated(instance) <= least(instance)


def directions(languages, count, *, seed=1):
    """Directions between languages, from and into the first one and then others at random, of very different sizes;
    an encoder and the lower half of the decoder are shared, each target language has upper layers of its own."""
    draw = random.Random(seed)
    names = [f"l{number}" for number in range(languages)]
    hub = [(names[0], each) for each in names[1:]] + [(each, names[0]) for each in names[1:]]
    rest = [(a, b) for a in names for b in names if a != b and names[0] not in (a, b)]
    draw.shuffle(rest)
    shared = {"encoder.shared": 75_600_000, "decoder.shared": 50_400_000, "embeddings.shared": 64_000_000}
    pairs = (hub + rest)[:count]
    tasks = tuple(
        TaskToPlace(f"{a}-{b}", draw.lognormvariate(0, 1.5) ** 0.2, frozenset({*shared, f"decoder.{b}"}))
        for a, b in pairs
    )
    return Instance(tasks, shared | {f"decoder.{b}": 50_400_000 for _, b in pairs}, 64)


@pytest.mark.quick("11")
@pytest.mark.parametrize("languages", [11, 26, 51])
def test_a_hundred_tasks_on_64_ranks_wait_little_and_communicate_little(languages):
    instance = directions(languages, 100)
    placement = place_tasks(instance)
    check(instance, placement)
    assert len(instance.tasks) == 100
    assert placement.waiting < 0.05
    assert placement.communicated <= 1.1 * least_communicated(instance)


def test_the_same_instance_has_the_same_placement():
    instance = Instance(directions(4, 10).tasks, directions(4, 10).bytes_of, 6)
    assert place_tasks(instance).work == place_tasks(instance).work


def test_one_rank_has_everything_and_sends_nothing():
    instance = Instance(directions(4, 6).tasks, directions(4, 6).bytes_of, 1)
    assert place_tasks(instance).communicated == 0


def test_a_search_that_is_cut_short_still_places_everything_within_the_capacity(monkeypatch):
    names = [f"l{number}" for number in range(6)]
    tasks = tuple(TaskToPlace(each, 1.0, frozenset({"shared", each})) for each in names)
    instance = Instance(tasks, {"shared": 9, **dict.fromkeys(names, 3)}, 16)
    whole = place_tasks(instance)
    monkeypatch.setattr("trimtab.fit.place_tasks.MOST_LOOKS", 50)
    short = place_tasks(instance)
    for number, task in enumerate(tasks):
        assert sum(rank.get(number, 0.0) for rank in short.work) == pytest.approx(task.work)
    assert short.waiting <= 0.0477
    assert whole.communicated <= short.communicated <= data_parallel(instance).communicated
