import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import document
from tests.for_each import for_each
from trimtab.checks.conversion.draft import Draft, number, plain, scalar, short
from trimtab.checks.description import Description
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting
from trimtab.config.read_yaml import read_yaml


def draft():
    keys = {key: Setting(key=key, value=1, place=Place("f")) for key in ("a", "b", "b.c", "b.d")}
    concepts = {"steps": keys["a"], "clip": Setting(key="x", value=1.0, place=Place("f"), origin="default")}
    return Draft(
        Description(tool="t", kind="k", document=document("f.yaml", ""), keys=keys, concepts=concepts), "T"
    )


def test_what_is_read_is_accounted_for():
    one = draft()
    assert (one.value("steps"), one.value("clip"), one.value("seed")) == (1, 1.0, None)
    assert [setting.key for setting in one.unmatched()] == ["b.c", "b.d"]
    assert one.key("missing", "b.d").key == "b.d"
    assert [setting.key for setting in one.unmatched()] == ["b.c"]


def test_a_line_says_where_its_value_comes_from():
    one = draft()
    one.put("length", 1, source=one.take("steps"))
    one.put("at", 1.0, source=one.take("clip"), why="so")
    assert [line.split("# ")[1] for line in one.lines] == ["a", "T's default, so"]


@for_each(
    ("value", "text"),
    [
        ("train.en", "train.en"),
        ("no", '"no"'),
        ("a b", '"a b"'),
        (1.0, "1.0"),
        (2e-5, "2e-05"),
        ([1, "x"], "[1, x]"),
    ],
)
def test_values_are_written_so_that_they_stay_what_they_are(value, text):
    assert scalar(value) == text


@given(
    st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.booleans()
    | st.integers()
)
def test_a_written_value_is_read_back(value):
    back = read_yaml(f"key: {scalar(value)}  # {plain(repr(value))}\n", name="f").value["key"]
    assert back == pytest.approx(value, rel=1e-5) if isinstance(value, float) else back == value


def test_numbers_keep_their_fraction():
    assert (number(1.0), number(0.123456789), number(1e20)) == ("1.0", "0.123457", "1e+20")


def test_long_texts_are_cut():
    assert short("a" * 100) == "a" * 57 + "..."
    assert short(3) == 3
