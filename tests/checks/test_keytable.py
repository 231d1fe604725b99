from hypothesis import given
from hypothesis import strategies as st

from trimtab.checks.keytable import Key, KeyTable, overlaid

TABLE = KeyTable(
    tool="opennmt",
    version="3.5",
    source="its options",
    keys={name: Key(name=name) for name in ("train_steps", "data.*.path_src", "data")},
)


def test_a_key_is_found_by_its_own_name_or_by_a_name_of_the_users_choice():
    assert TABLE.key("train_steps").name == "train_steps"
    assert TABLE.key("data.europarl.path_src").name == "data.*.path_src"


def test_what_is_not_in_the_table_is_none():
    assert TABLE.key("train_step") is None
    assert TABLE.key("data.europarl.path_trg") is None
    assert TABLE.key("data.europarl.more.path_src") is None


NAMES = st.lists(st.sampled_from(("a", "b", "*")), min_size=1, max_size=3).map(".".join)


@given(st.lists(NAMES, unique=True, max_size=8), NAMES)
def test_of_several_that_fit_the_exact_name_wins_then_the_first(names, dotted):
    table = KeyTable(tool="any", version="1", source="", keys={name: Key(name=name) for name in names})
    parts = dotted.split(".")
    fits = [
        name
        for name in names
        if len(name.split(".")) == len(parts)
        and all(p in ("*", part) for p, part in zip(name.split("."), parts, strict=True))
    ]
    first = dotted if dotted in names else next(iter(fits), None)
    for _ in range(2):  # the second time from what the first found out
        found = table.key(dotted)
        assert (found and found.name) == first


def test_a_table_with_some_keys_over_it_has_the_others_still():
    table = KeyTable(tool="a", version="1", source="", keys={"a": Key(name="a"), "b": Key(name="b")})
    over = overlaid(table, {"b": Key(name="b", default=2, has_default=True), "c.*": Key(name="c.*")})
    assert (over.key("a"), over.key("b").default) == (table.key("a"), 2)
    assert over.key("c.d").name == "c.*"
    assert "c.*" not in table.keys
