import math

from trimtab.report.plain_values import count, is_number, items, mapping, named_numbers, numbers, text


def test_what_is_no_number_is_0_and_what_is_no_text_is_empty():
    assert [is_number(each) for each in (1, 2.5, math.nan, math.inf, True, "3", None, 10**400)] == [
        *(True, True), *(False,) * 6,
    ]  # fmt: skip
    assert numbers([1, "x", math.inf, 2.5], 3) == [1, 0.0, 0.0]
    assert [count(each) for each in (3, -3, True, 2**70, "x", 2.0)] == [3, 0, 0, 0, 0, 0]
    assert (text("abcd", 3), text(None), text(7)) == ("abc", "", "")
    assert (items("abc", 2), items([1, 2, 3], 2), mapping([1]), mapping({"a": 1})) == (
        [],
        [1, 2],
        {},
        {"a": 1},
    )
    assert [*named_numbers({"a": 1, "b": math.nan, "c": 2, "d": 3}, 2)] == [("a", 1), ("c", 2)]
