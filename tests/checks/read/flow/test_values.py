from tests.checks.read.flow.following import flow
from trimtab.checks.read.flow.values import Block, Value, walk


def test_the_last_part_of_a_name_is_what_is_called():
    assert Value(made="call", name="torch.optim.AdamW").last == "AdamW"


def test_arguments_are_found_by_position_and_by_name():
    (event,) = flow("f(1, b=2)").events
    assert event.value.argument(0, "a").constant == 1
    assert event.value.argument(1, "b").constant == 2
    assert event.value.argument(2, "c") is None


def test_walking_meets_each_value_once_and_ends_in_a_circle():
    one, other = Value(), Value()
    one.args, other.args = (other, other), (one,)
    assert list(walk(one)) == [one, other]
    assert list(walk(None)) == []
    assert len(list(walk(one, most=1))) == 1


def test_events_know_the_blocks_between_a_loop_and_themselves():
    told = flow("""
        for x in data:
            if x:
                a()
        b()
    """)
    (a,), (b,) = told.named("a"), told.named("b")
    loop = a.path[0]
    assert a.within(loop)
    assert [block.kind for block in a.below(loop)] == ["if"]
    assert not b.within(loop)
    assert b.below(loop) == ()


def test_what_happens_in_a_block_is_all_that_has_it_around():
    told = flow("""
        def f(x):
            for y in x:
                with a(y):
                    b(y) if y else c([d(z) for z in y])
            return e(x)
        while f(1):
            if g():
                f(2)
            else:
                h(lambda x: f(x))
        f(3)
    """)
    blocks = {id(block): block for event in told.events for block in event.path}
    assert len(blocks) > 8
    for block in blocks.values():
        assert told.inside(block) == [event for event in told.events if event.within(block)]
    assert told.inside(Block("for")) == []
