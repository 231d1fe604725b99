from tests.for_each import for_each
from trimtab.checks.listed import numbers, text_list


@for_each(
    ("value", "found"),
    [
        ("(0.9, 0.98)", [0.9, 0.98]),
        ("[5e-4]", [5e-4]),
        ("0.0005,0.001", [0.0005, 0.001]),
        ("6:3", [6, 3]),
        (7, [7]),
        (["0.9", 1e-9], [0.9, 1e-9]),
        ("linear", []),
        (True, []),
        (None, []),
        ("(", []),
        (float("inf"), []),
        (10**400, []),
    ],
)
def test_numbers_are_read_in_every_spelling(value, found):
    assert numbers(value) == found


@for_each(("value", "found"), [("a", ["a"]), (["a", "b"], ["a", "b"]), ([1], None), (None, None), ([], [])])
def test_names_are_one_text_or_a_list_of_texts(value, found):
    assert text_list(value) == found
