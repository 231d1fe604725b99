from tests.checks.kinds.describing import document
from trimtab.checks.kinds.signs import mapping, mappings_in, names_of


def test_the_names_at_the_root_are_texts():
    assert names_of(document("a.yaml", "a: 1\n2: b\n")) == {"a", "2"}


def test_a_file_without_a_mapping_has_no_names():
    assert names_of(document("a.yaml", "- a\n- b\n")) == frozenset()
    assert mapping(None) == {}


def test_mappings_are_found_by_name_and_in_lists():
    read = document("a.yaml", "named: {x: {path: 1}, y: 2}\nlisted: [{path: 3}, 4]\n")
    assert list(mappings_in(read, "named")) == [{"path": 1}]
    assert list(mappings_in(read, "listed")) == [{"path": 3}]
    assert list(mappings_in(read, "missing")) == []
