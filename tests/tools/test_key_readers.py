"""The readers of `tools/key_readers`, on small sources: the tables of the linter are made by them."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

from key_readers.annotations import enums_of
from key_readers.dataclass_fields import fields_of
from key_readers.history import with_history
from key_readers.tree import Tree
from read_keys import lay_facts_over, open_mappings, render

SOURCE = """
class Strategy(ExplicitEnum):
    NO = "no"
    STEPS = "steps"

@dataclass
class Base:
    rate: float = field(default=5e-5, metadata={"help": "x"})
    steps: int | None = field(default=None)
    kind: Literal["a", "b"] = "a"
    names: list[str] = field(default_factory=list)
    mode: str = field(default="x", metadata={"choices": ["x", "y"]})
    strategy: Strategy = field(default=Strategy.NO)
    options: Optional[Union[dict, str]] = None
    made: str = field(default=somewhere.computed)
    _hidden: int = 3
    size: int = Field(pp_int(5e8), ge=0, alias="stage3_size")

class Child(Base):
    rate: float = 2e-5
"""


def rows(*classes):
    return fields_of(ast.parse(SOURCE), *classes)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("rate", {"types": ["number"], "default": 5e-5}),
        ("steps", {"types": ["integer"], "default": None}),
        ("kind", {"types": ["text"], "choices": ["a", "b"], "default": "a"}),
        ("names", {"types": ["list"], "default": []}),
        ("mode", {"types": ["text"], "default": "x", "choices": ["x", "y"]}),
        ("strategy", {"types": ["text"], "choices": ["no", "steps"], "default": "no"}),
        ("options", {"types": ["mapping", "text"], "default": None}),
        ("made", {"types": ["text"]}),
        ("stage3_size", {"types": ["integer"], "default": 500000000, "minimum": 0}),
    ],
)
def test_a_field_becomes_a_row(name, row):
    assert rows("Base")[name] == row


def test_a_child_speaks_over_its_parent_and_private_fields_are_left_out():
    assert rows("Base", "Child")["rate"]["default"] == 2e-5
    assert "_hidden" not in rows("Base")


def test_enumerations_are_read_by_name():
    assert enums_of(ast.parse(SOURCE)) == {"Strategy": {"NO": "no", "STEPS": "steps"}}


def test_history_claims_only_what_was_seen():
    trees = [Tree(version, Path()) for version in ("4.40.2", "4.45.0", "5.0.0")]
    read = [
        {"old": {"types": ["text"]}, "rate": {"types": ["number"], "default": 1.0}},
        {"new": {"types": ["text"]}, "rate": {"types": ["number"], "default": 1.0}},
        {"new": {"types": ["text"]}, "rate": {"types": ["number"], "default": 2.0}},
    ]
    made = with_history(list(zip(trees, read, strict=True)))
    assert made["rate"] == {"types": ["number"], "default": 2.0, "before": {"5.0.0": {"default": 1.0}}}
    # It came somewhere after 4.40, and was surely gone in 4.45.
    assert made["new"]["since"] == "4.41.0"
    assert made["old"]["removed_in"] == "4.45.0"


def test_facts_are_laid_over_and_can_add_a_key(tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text('{"rate": {"minimum": 0}, "gone": {"removed_in": "1.0"}, "mode": {"choices": null}}')
    keys = {"rate": {"default": 1.0}, "mode": {"choices": ["x"]}}
    lay_facts_over(keys, facts)
    assert keys == {"rate": {"default": 1.0, "minimum": 0}, "gone": {"removed_in": "1.0"}, "mode": {}}


def test_mappings_are_open_where_nothing_below_is_listed():
    keys = {"a": {"types": ["mapping"]}, "b": {"types": ["mapping"]}, "b.c": {"types": ["text"]}}
    open_mappings(keys)
    assert keys["a"]["open"]
    assert "open" not in keys["b"]


def test_a_table_is_written_with_a_key_a_line():
    text = render({"tool": "x", "keys": {"a": {"default": 1}, "b": {}}})
    assert text == '{\n  "tool": "x",\n  "keys": {\n    "a": {"default": 1},\n    "b": {}\n  }\n}\n'
