from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.optimizer import parsed_arguments, says_yes


@for_each(
    ("given_", "parsed"),
    [
        ("beta2=0.95, eps=1e-6", {"beta2": "0.95", "eps": "1e-6"}),
        ({"rank": 64}, {"rank": 64}),
        ("nonsense", {}),
        (None, {}),
        (3, {}),
    ],
)
def test_arguments_are_pairs_or_a_mapping(given_, parsed):
    assert parsed_arguments(given_) == parsed


@given(st.text())
def test_any_text_may_be_parsed(text):
    parsed_arguments(text)


@for_each(("value", "told"), [("True", True), ("0", False), (True, True), ("maybe", None), (None, None)])
def test_booleans_are_text_there(value, told):
    assert says_yes(value) is told
