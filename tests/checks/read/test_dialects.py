from trimtab.checks.read.dialects import in_dialect
from trimtab.checks.read.json import read_json
from trimtab.checks.read.yaml import read_yaml

TEXT = "a: 1e-4 # note\nb: {c: [no, 012]}\nd: '1e-4'\n"


def test_scalars_are_read_again_as_another_tool_reads_them():
    document = read_yaml("f", TEXT)
    assert document.tree == {"a": "1e-4", "b": {"c": [False, 10]}, "d": "1e-4"}
    assert in_dialect(document, "omegaconf").tree == {"a": 0.0001, "b": {"c": [False, 10]}, "d": "1e-4"}
    assert in_dialect(document, "yaml12").tree == {"a": 0.0001, "b": {"c": ["no", 12]}, "d": "1e-4"}


def test_places_characters_and_comments_stay():
    document = read_yaml("f", TEXT)
    other = in_dialect(document, "omegaconf")
    assert other.entries["a"].value == 0.0001
    assert other.entries["a"].raw == "1e-4"
    assert [entry.place for entry in other.entries.values()] == [
        entry.place for entry in document.entries.values()
    ]
    assert other.comments == document.comments


def test_there_and_back_is_the_same_document():
    document = read_yaml("f", TEXT)
    assert in_dialect(in_dialect(document, "yaml12"), "pyyaml") == document


def test_recipes_merge_nothing():
    document = in_dialect(read_yaml("f", "a: &a {k: 1}\nb: {<<: *a}"), "yaml12")
    assert document.tree["b"] == {"<<": {"k": 1}}


def test_what_is_no_yaml_stays_as_it_is():
    document = read_json("f", '{"a": "no"}')
    assert in_dialect(document, "omegaconf") is document
