import pytest

from tests.cli.refusal import has_four_parts
from tests.for_each import for_each
from trimtab.checks.read.compose import compose
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import AliasNode, MappingNode, ScalarNode, SequenceNode
from trimtab.errors import InputError


def mapping(text: str) -> MappingNode:
    node = compose(Lines("f.yaml", text))
    assert isinstance(node, MappingNode)
    return node


def written(text: str, index: int) -> str:
    value = mapping(text).pairs[index][1]
    return text[value.start : value.end]


def test_nothing_has_no_nodes():
    assert compose(Lines("f.yaml", "")) is None
    assert compose(Lines("f.yaml", "# only a comment\n")) is None


@for_each(
    ("text", "value"),
    [
        ("a: 1e-4  # note", "1e-4"),
        ("a: 'x # y'", "'x # y'"),
        ("a: &name 5", "5"),
        ("a: !!float &name 5", "5"),
        ("a: !!str", ""),
        ("a: [1,\n 2]\nb: 1", "[1,\n 2]"),
        ("a:\n  - 1\n  - 2\n\n# end\nb: 1", "- 1\n  - 2"),
        ("a: &name\n  b: 1\n\nc: 2", "b: 1"),
        ("a: &name # note\n  b: 1", "b: 1"),
        ("a:\n\n\nb: 1", ""),
        ("a: &x 1\nb: *x", "1"),
        ("a: {b: 1}\r\nc: 1", "{b: 1}"),
    ],
)
def test_a_value_stands_where_its_own_characters_are(text: str, value: str):
    assert written(text, 0) == value


def test_a_value_that_is_not_written_stands_behind_its_colon():
    text = "a:\n  # nothing\nb: 1"
    assert mapping(text).pairs[0][1].start == 2


def test_an_alias_knows_what_it_stands_for():
    node = mapping("a: &x [1]\nb: *x")
    alias = node.pairs[1][1]
    assert isinstance(alias, AliasNode)
    assert alias.target is node.pairs[0][1]
    assert isinstance(alias.target, SequenceNode)


def test_only_text_without_quotes_and_tags_is_plain():
    node = compose(Lines("f", "[a, 'b', \"c\", !!str d, ! e]"))
    assert isinstance(node, SequenceNode)
    assert [item.is_plain for item in node.items if isinstance(item, ScalarNode)] == [True] + [False] * 4


@for_each(
    ("text", "what", "where"),
    [
        ("a: 1\n\tb: 2", "a tab where YAML needs spaces", "f.yaml:2:1"),
        ("a: b: c", "a colon or a key where YAML does not allow one", "f.yaml:1:5"),
        ("a: 1\n b: 2", "a colon or a key where YAML does not allow one", "f.yaml:2:3"),
        ("a: 'x\nb: 1", "a quote is opened and not closed", "f.yaml:2:5"),
        ("a: [1, 2", "a bracket is opened and not closed", "f.yaml:1:9"),
        ("a: @x", "a character that cannot begin a value", "f.yaml:1:4"),
        ("a: 1\nb\nc: 2", "a key without a colon", "f.yaml:3:1"),
        ("  a: 1\n b: 2", "a line that fits no level of indentation", "f.yaml:2:2"),
        ("a: *x", "an alias of something not defined before", "f.yaml:1:4"),
        ("a: &x [*x]", "an alias inside its own anchor", "f.yaml:1:8"),
        ("a: 1\n---\nb: 2", "a second document begins", "f.yaml:2:1"),
        ("a: {{ name }}", "a key that is not a string", "f.yaml:1:5"),
        ("{% if x %}\na: 1", "a character that cannot begin a value", "f.yaml:1:2"),
        ("a: !ENV x", "a value with a YAML tag", "f.yaml:1:4"),
        ("a: !!python/object:os.system x", "a value with a YAML tag", "f.yaml:1:4"),
        ("a: \x07", "a character that YAML does not allow", "f.yaml:1:4"),
        ('a: "\\U99999999"', "not YAML", "f.yaml"),
        ("%YAML 9.9.9\n---\na: 1", "a line with % that YAML does not understand", "f.yaml:1"),
        *((f"%YAML 1.{minor}\n---\na: 1", "not YAML", "f.yaml") for minor in (0, 3, 9)),
        ("a: ]", "brackets that YAML does not understand", "f.yaml:1:4"),
        ("! " + "!" * 5_000, "a tag of more than 1,000 characters", "f.yaml:1:3"),
    ],
)
def test_what_is_no_yaml_says_what_and_where(text: str, what: str, where: str):
    with pytest.raises(InputError) as caught:
        compose(Lines("f.yaml", text))
    problem = caught.value.problems[0]
    assert what in problem.what
    assert problem.where.startswith(where)


@for_each("text", ["[" * 30_000, "{" * 30_000, "- " * 30_000, "? " * 30_000, "{a: " * 30_000])
def test_deep_nesting_is_refused(text: str):
    with pytest.raises(InputError, match=r"nested too deeply|not a string|cannot be"):
        compose(Lines("f.yaml", text))


def test_a_file_of_data_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.compose.MAX_VALUES", 1_000)
    assert compose(Lines("f.yaml", "[" + "1," * 900 + "1]"))
    with pytest.raises(InputError, match="too many values"):
        compose(Lines("f.yaml", "[" + "1," * 1_100 + "1]"))


@pytest.mark.quick("a: &x [*x]", "? [a, b]\\n: 1", "? {a: b}\\n: 1", "a: {{ name }}", "text4")
@pytest.mark.parametrize(
    "text",
    ["a: &x [*x]", "? [a, b]\n: 1", "? {a: b}\n: 1", "a: {{ name }}", "a: " + "[" * 200, "[" + "a," * 110_000 + "]"],
)  # fmt: skip
def test_what_is_refused_says_what_it_got_and_what_to_do(text: str):
    with pytest.raises(InputError) as raised:
        compose(Lines("f.yaml", text))
    assert has_four_parts(f"error: {raised.value}")
    assert ("template" in str(raised.value)) == text.startswith("a: {{")
