from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN, Entry
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.kinds.written import Written, below, converted, hidden_in, prefixed, settings_of
from trimtab.checks.place import Place

HERE = Place("a", 1, 2)
TABLE = KeyTable(
    tool="x",
    version="1",
    source="",
    keys={
        "rate": Key(name="rate", types=("number",), default=0.5, has_default=True),
        "name": Key(name="name", types=("text",)),
        "old": Key(name="old", renamed_to="rate"),
    },
)


def entry(key, value):
    return Entry(key=key, value=value, raw=str(value), place=HERE, value_place=HERE)


def test_what_is_written_wins_and_the_default_speaks_otherwise():
    written = Written(path="a", settings=settings_of([entry("rate", 1.0)]), table=TABLE)
    assert written.get("rate").value == 1.0
    assert Written(path="a", table=TABLE, prefix="X.").get("rate").key == "X.rate"
    assert Written(path="a", table=TABLE).get("rate").origin == "default"
    assert Written(path="a", table=TABLE).get("name") is None


def test_nothing_speaks_for_what_is_hidden_or_could_be_set_elsewhere():
    entries = [entry("rate", UNKNOWN)]
    assert settings_of(entries) == {}
    assert Written(path="a", hidden=hidden_in(entries), table=TABLE).get("rate") is None
    assert Written(path="a", table=TABLE, is_whole=False).get("rate") is None


def test_a_block_is_taken_out_by_its_name():
    settings = settings_of([entry("a.b", 1), entry("a.c.d", 2), entry("ab.c", 3)])
    assert {key: setting.value for key, setting in below(settings, "a").items()} == {"b": 1, "c.d": 2}


def test_a_script_names_keys_and_their_heirs_with_the_call():
    keys = prefixed(TABLE, "Config.")
    assert keys["Config.old"].renamed_to == "Config.rate"
    assert keys["Config.rate"].renamed_to == ""


@for_each(
    ("value", "types", "result"),
    [
        ("1e-4", ("number",), 1e-4),
        ("3", ("integer",), 3),
        ("3.5", ("integer",), "3.5"),
        ("no", ("boolean",), False),
        ("no", ("text",), "no"),
        ("5", ("any",), "5"),
        ("x", ("number",), "x"),
        (True, ("number",), True),
    ],
)
def test_a_parser_that_knows_the_type_converts_text(value, types, result):
    assert converted(value, Key(name="k", types=types)) == result


@given(
    st.text(max_size=20),
    st.lists(st.sampled_from(["number", "integer", "boolean", "text", "list", "mapping", "any"])),
)
def test_any_text_may_be_converted(text, types):
    converted(text, Key(name="k", types=tuple(types)))
