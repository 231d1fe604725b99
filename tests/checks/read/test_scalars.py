import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import Dialect
from trimtab.checks.read.nodes import ScalarNode
from trimtab.checks.read.scalars import LONGEST, plain, resolver
from trimtab.config.read_yaml import read_yaml

# What PyYAML 6.0.4 `safe_load`, OmegaConf 2.3.0 `OmegaConf.load` and our reader of recipes make of `a: TEXT`;
# where PyYAML makes a date, the text.
FACTS = [
    ("1e-4", "1e-4", 0.0001, 0.0001),
    ("1E5", "1E5", 100000.0, 100000.0),
    ("1e+5", "1e+5", 100000.0, 100000.0),
    ("1.0e-4", 0.0001, 0.0001, 0.0001),
    ("1.e5", "1.e5", 100000.0, 100000.0),
    ("1.0e4", "1.0e4", 10000.0, 10000.0),
    ("2.5e+3", 2500.0, 2500.0, 2500.0),
    (".5e-3", 0.0005, 0.0005, 0.0005),
    (".5", 0.5, 0.5, 0.5),
    ("-.5", "-.5", "-.5", -0.5),
    ("5.", 5.0, 5.0, 5.0),
    ("1_000", 1000, 1000, 1000),
    ("1_000.5", 1000.5, 1000.5, 1000.5),
    ("0_1", 1, 1, 1),
    ("012", 10, 10, 12),
    ("08", "08", "08", 8),
    ("0o17", "0o17", "0o17", 15),
    ("0x1F", 31, 31, 31),
    ("0b101", 5, 5, 5),
    ("-0x1F", -31, -31, -31),
    ("1:30", 90, 90, "1:30"),
    ("1:30.5", 90.5, 90.5, "1:30.5"),
    ("190:20:30", 685230, 685230, "190:20:30"),
    ("yes", True, True, "yes"),
    ("No", False, False, "No"),
    ("ON", True, True, "ON"),
    ("off", False, False, "off"),
    ("y", "y", "y", "y"),
    ("true", True, True, True),
    ("TRUE", True, True, True),
    ("tRue", "tRue", "tRue", "tRue"),
    ("~", None, None, None),
    ("null", None, None, None),
    ("None", "None", "None", "None"),
    (".inf", math.inf, math.inf, math.inf),
    ("-.Inf", -math.inf, -math.inf, -math.inf),
    ("nan", "nan", "nan", "nan"),
    ("2024-01-01", "2024-01-01", "2024-01-01", "2024-01-01"),
    ("12e03", "12e03", 12000.0, 12000.0),
    ("-1e5", "-1e5", -100000.0, -100000.0),
    ("+1", 1, 1, 1),
    ("1,000", "1,000", "1,000", "1,000"),
    ("1e", "1e", "1e", "1e"),
    ("00", 0, 0, 0),
    ("1e5_0", "1e5_0", "1e5_0", "1e5_0"),
]


@for_each(("text", "pyyaml", "omegaconf", "yaml12"), FACTS)
def test_a_scalar_is_what_its_tool_makes_of_it(text: str, pyyaml: object, omegaconf: object, yaml12: object):
    read = [plain(text, dialect) for dialect in ("pyyaml", "omegaconf", "yaml12")]
    assert read == [pyyaml, omegaconf, yaml12]
    assert [type(value) for value in read] == [type(pyyaml), type(omegaconf), type(yaml12)]


@pytest.mark.parametrize("dialect", ["pyyaml", "omegaconf", "yaml12"])
def test_not_a_number_is_read_in_every_dialect(dialect: Dialect):
    assert math.isnan(plain(".NaN", dialect))


@given(st.text(alphabet="0123456789.eE+-_xob:afnITRUEtrue~ ", max_size=10).map(str.strip))
def test_our_dialect_is_that_of_recipes(text: str):
    if ": " in text or text.endswith(":") or text.startswith("- ") or text in ("-", "..."):
        return
    assert repr(plain(text, "yaml12")) == repr(read_yaml(f"a: {text}", name="x").value["a"])


@given(st.text(max_size=30), st.sampled_from(["pyyaml", "omegaconf", "yaml12"]))
def test_nothing_is_neither_text_nor_number(text: str, dialect: Dialect):
    assert isinstance(plain(text, dialect), str | int | float | None)


@pytest.mark.parametrize("text", ["9" * 1_000_000, "1" + ":59" * 300_000, "0x" + "f" * 500_000])
def test_numbers_that_no_float_holds_stay_text(text: str):
    assert plain(text, "pyyaml") == text


def test_the_greatest_number_that_is_read_can_be_computed_with():
    assert plain("0x" + "f" * (LONGEST - 2), "pyyaml") * 1.0 > 1e200


def node(text: str, tag: str) -> ScalarNode:
    return ScalarNode(start=0, end=0, text=text, value=text, tag=tag)


@for_each(
    ("text", "tag", "value"),
    [
        ("1e-4", "float", 0.0001),
        ("5", "str", "5"),
        ("012", "int", 10),
        ("yes", "bool", True),
        ("x", "null", None),
        ("many", "int", "many"),
        ("1:30", "", "1:30"),
    ],
)
def test_a_tag_decides_over_the_look(text: str, tag: str, value: object):
    assert resolver("pyyaml")(node(text, tag)) == value
