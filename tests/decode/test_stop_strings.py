from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.stop_strings import UntilStop, first_stop

LETTERS = st.text("ab\n", max_size=12)
STOPS = st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=3)


@given(st.lists(LETTERS, max_size=6), STOPS)
def test_parts_that_are_handed_out_are_the_text_before_the_first_stop(parts, stops):
    until, whole = UntilStop(tuple(stops)), "".join(parts)
    given_out = ""
    for part in parts:
        given_out += until.add(part)
        assert whole.startswith(given_out)
    given_out += until.rest()
    place = first_stop(whole, stops)
    assert given_out == until.text == (whole if place is None else whole[:place])
    assert until.found == (place is not None)


def test_what_a_stop_string_may_begin_with_is_held_back():
    until = UntilStop(("User:",))
    assert [until.add(part) for part in ("Hi! Us", "ed it. U", "ser", ": hello")] == [
        "Hi! ",
        "Used it. ",
        "",
        "",
    ]
    assert until.text == "Hi! Used it. "


def test_without_stop_strings_nothing_is_held_back():
    until = UntilStop(())
    assert [until.add("a"), until.add("b\n"), until.rest()] == ["a", "b\n", ""]
