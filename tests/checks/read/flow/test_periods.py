from tests.checks.read.flow.following import flow
from tests.for_each import for_each
from trimtab.checks.read.flow.periods import turn_of, turn_of_event


def turn(test):
    return turn_of(next(flow(f"use({test})").named("use")).value.args[0])


@for_each(
    ("test", "holds"),
    [
        ("(i + 1) % 8 == 0", True),
        ("(i + 1) % 8 != 0", False),
        ("(i + 1) % 8", False),
        ("not (i + 1) % 8", True),
        ("not ((i + 1) % 8 != 0)", True),
        ("(i + 1) % 8 == 0 or i + 1 == len(loader)", True),
        ("(i + 1) % 8 == 0 and ddp", True),
        ("i > 8", None),
        ("i % 8 == 0 or j % 4 == 0", None),
        ("i // 8 == 0", None),
    ],
)
def test_a_condition_holds_in_the_turn_or_in_all_others(test, holds):
    found = turn(test)
    assert (found.holds if found is not None else None) is holds


def test_the_same_turn_is_written_the_same_way():
    first, second, third = (
        event.value.args[0]
        for event in flow("use((i + 1) % n == 0)\nuse((i + 1) % n != 0)\nuse(i % n == 0)").named("use")
    )
    assert turn_of(first).counted == turn_of(second).counted != turn_of(third).counted
    assert turn_of(first).is_longer_than(1)
    assert not turn("i % 1 == 0").is_longer_than(1)


def test_an_event_has_the_turn_of_its_branch_and_an_else_the_opposite():
    made = flow("for i in x:\n    if i % 4 == 0:\n        a()\n    else:\n        b()\n    c()\n")
    events = {event.name: event for event in made.events}
    loop = events["c"].path[0]
    assert turn_of_event(events["a"], loop).holds
    assert not turn_of_event(events["b"], loop).holds
    assert turn_of_event(events["c"], loop) is None
