from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.replaying.left_out import LeftOut, left_out, went_back_from


def lines(*, until, masked=()):
    """Lines of the metrics by step; those of the stretches were left out."""
    out = {step for first, last in masked for step in range(first, last + 1)}
    return {
        step: {"step": step, "skipped": step in out, **({"refused": "masked"} if step in out else {})}
        for step in range(1, until + 1)
    }


def guard(*masked, rewound=()):
    return {"masked": [list(each) for each in masked], "refusals": {"rewound": list(rewound)}}


ONCE = guard((81, 128), rewound=[108])


@for_each("step", [1, 80, 129, 160])
def test_a_step_that_was_taken_is_not_left_out(step):
    assert left_out(step, records=lines(until=160, masked=[(81, 128)]), guard=ONCE) is None


@for_each(("step", "was_taken"), [(81, True), (108, True), (109, False), (128, False)])
def test_a_step_that_was_left_out_is_told_with_its_stretch_and_where_the_run_came_from(step, was_taken):
    found = left_out(
        step, records=lines(until=160, masked=[(81, 128)]), guard=ONCE, refused=frozenset({101, 108})
    )
    assert found == LeftOut(step, (81, 128), 108, refused=step == 108)
    assert found.was_taken == was_taken


def test_a_run_that_went_back_into_the_stretch_took_its_first_steps_on_both_branches():
    records = lines(until=160, masked=[(96, 128)])
    assert left_out(95, records=records, guard=ONCE) is None
    assert left_out(100, records=records, guard=ONCE).stretch == (96, 128)


def test_a_step_that_the_run_has_not_come_to_again_is_left_out_too():
    found = left_out(105, records=lines(until=85, masked=[(81, 85)]), guard=ONCE)
    assert (found.stretch, found.was_taken) == ((81, 128), True)
    assert left_out(140, records=lines(until=85, masked=[(81, 85)]), guard=ONCE) is None


def test_of_two_rewinds_the_first_that_left_a_step_out_counts():
    twice = guard((81, 128), (112, 168), rewound=[108, 148])
    records = lines(until=200, masked=[(81, 168)])
    assert left_out(120, records=records, guard=twice) == LeftOut(120, (81, 128), 108)
    later = left_out(140, records=records, guard=twice)
    assert (later.stretch, later.went_back_from, later.earlier) == ((129, 168), 148, ((81, 128),))


def test_a_stretch_that_begins_before_the_run_begins_with_it():
    found = left_out(3, records=lines(until=60, masked=[(1, 40)]), guard=guard((-8, 40), rewound=[20]))
    assert found.stretch == (1, 40)


def test_without_a_checkpoint_the_lines_around_it_tell_the_stretch():
    found = left_out(40, records=lines(until=60, masked=[(10, 12), (31, 45)]), guard={})
    assert (found.stretch, found.went_back_from, found.was_taken) == ((31, 45), None, True)
    assert left_out(70, records=lines(until=60), guard={}) is None


@given(
    first=st.integers(-5, 90), count=st.integers(1, 60), step=st.integers(1, 100), until=st.integers(0, 160)
)
def test_it_is_left_out_just_where_its_line_says_so_or_is_still_to_come(first, count, step, until):
    last = first + count - 1
    records = lines(until=until, masked=[(max(1, first), last)])
    found = left_out(step, records=records, guard=guard((first, last), rewound=[last]))
    assert (found is not None) == (first <= step <= last)
    assert found is None or found.stretch == (max(1, first), last)


def test_where_the_run_went_back_from_stands_in_the_state():
    assert went_back_from(ONCE) == [108]
    assert went_back_from({}) == []


def test_its_plain_data_has_no_names_of_this_program():
    found = LeftOut(105, (81, 128), 108, earlier=((1, 2),), refused=True, from_its_checkpoint=True)
    assert found.to_dict() == {
        "first": 81,
        "last": 128,
        "went_back_from": 108,
        "was_taken": True,
        "from_its_checkpoint": True,
    }
