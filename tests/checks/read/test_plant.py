import pytest

from trimtab.checks.read.yaml import read_yaml
from trimtab.errors import InputError


def test_entries_come_in_the_order_of_the_file_each_before_its_children():
    entries = read_yaml("f", "b: {d: 1, c: [x, {e: 2}]}\na: 3").entries
    assert list(entries) == ["b", "b.d", "b.c", "b.c.1.e", "a"]
    assert entries["b"].value == {"d": 1, "c": ["x", {"e": 2}]}


def test_the_items_of_a_list_are_no_keys():
    assert list(read_yaml("f", "betas: [0.9, 0.98]").entries) == ["betas"]
    assert read_yaml("f", "- 1\n- 2").entries == {}


TWICE = "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 2"


@pytest.mark.parametrize("dialect", ["pyyaml", "omegaconf"])
def test_of_a_key_written_twice_the_last_counts_and_both_places_are_kept(dialect):
    document = read_yaml("f.yaml", TWICE, dialect=dialect)
    assert document.tree == {"a": 2, "b": {"c": 3, "d": 2}}
    assert {key: entry.place.line for key, entry in document.entries.items()} == {
        "a": 6,
        "b": 2,
        "b.c": 5,
        "b.d": 4,
    }
    told = [(each.key, each.first.line, each.again.line) for each in document.repeated]
    assert told == [("a", 1, 6), ("b.c", 3, 5)]


def test_what_an_alias_repeats_is_told_once_and_a_merge_repeats_nothing():
    document = read_yaml("f.yaml", "a: &a {x: 1, x: 2}\nb: *a\nc:\n  <<: *a\n  x: 3")
    assert [each.key for each in document.repeated] == ["a.x"]
    assert document.tree["c"] == {"x": 3}


def test_in_a_recipe_a_key_written_twice_is_a_problem_that_names_both_lines():
    with pytest.raises(InputError) as caught:
        read_yaml("f.yaml", TWICE, dialect="yaml12")
    assert [(problem.what, problem.got, problem.where) for problem in caught.value.problems] == [
        ("b.c: written twice", "first in line 3, again in line 5", "f.yaml:5:3"),
        ("a: written twice", "first in line 1, again in line 6", "f.yaml:6:1"),
    ]


def test_a_dotted_key_does_not_displace_a_nested_one():
    entries = read_yaml("f", "a: {b: 1}\na.b: 2").entries
    assert entries["a.b"].value == 1
    assert entries["a.b"].place.line == 1


def test_a_merged_value_keeps_the_place_where_it_is_written():
    document = read_yaml("f", "x: &x {lr: 1, bs: 2}\ny:\n  <<: *x\n  bs: 3")
    assert document.tree["y"] == {"lr": 1, "bs": 3}
    assert document.entries["y.lr"].place.line == 1
    assert document.entries["y.bs"].place.line == 4
    assert "y.<<" not in document.entries


def test_of_several_merged_mappings_the_first_wins():
    text = "a: &a {k: 1}\nb: &b {k: 2, l: 2}\nc:\n  <<: [*a, *b]\nd:\n  <<: [*b, *a]"
    tree = read_yaml("f", text).tree
    assert tree["c"] == {"k": 1, "l": 2}
    assert tree["d"] == {"k": 2, "l": 2}


def test_merges_go_through_merges():
    text = "a: &a {k: 1}\nb: &b {<<: *a, l: 2}\nc: {<<: *b}"
    assert read_yaml("f", text).tree["c"] == {"k": 1, "l": 2}


def test_what_is_no_mapping_cannot_be_merged():
    with pytest.raises(InputError, match="`<<` merges what is no mapping"):
        read_yaml("f", "a: &a 1\nb: {<<: *a}")


def test_an_alias_is_written_out_below_its_key():
    entries = read_yaml("f", "a: &x {b: 1}\nc: *x").entries
    assert entries["c"].value == {"b": 1}
    assert entries["c"].raw == "*x"
    assert entries["c.b"].place.line == 1


def test_a_bomb_of_aliases_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.plant.MAX_VALUES", 5_000)
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 15))
    with pytest.raises(InputError, match="too many values"):
        read_yaml("f", bomb)


def test_a_bomb_of_merges_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.plant.MAX_VALUES", 5_000)
    bomb = "a0: &a0 {x: 1, y: 2}\n"
    bomb += "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], k{i}: 1}}\n" for i in range(1, 40))
    with pytest.raises(InputError, match="too many values"):
        read_yaml("f", bomb)


def test_aliases_may_not_nest_deeper_than_brackets():
    deep = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 120))
    with pytest.raises(InputError, match="nested too deeply"):
        read_yaml("f", deep)


def test_long_keys_around_many_keys_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.plant.LONGEST_PATHS", 2_000_000)
    deep = "".join(" " * depth + "k" * 900 + ":\n" for depth in range(60))
    many = "".join(" " * 60 + f"k{i}: 1\n" for i in range(300))
    with pytest.raises(InputError, match="too many values"):
        read_yaml("f", deep + many)
