import pickle

from trimtab.checks.document import UNKNOWN, Document


def test_what_is_unknown_says_so_and_is_equal_to_nothing_that_a_file_can_hold():
    assert repr(UNKNOWN) == "UNKNOWN"
    assert all(value != UNKNOWN for value in (None, False, 0, "", "UNKNOWN", [], {}))


def test_a_document_without_content_has_no_entries_and_no_calls():
    document = Document(path="a.yaml", syntax="yaml", text="")
    assert (dict(document.entries), document.calls, document.imports, document.comments) == (
        {},
        (),
        frozenset(),
        (),
    )
    assert pickle.loads(pickle.dumps(document)) == document
