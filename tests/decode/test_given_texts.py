import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.refusal import has_four_parts
from tests.for_each import for_each
from trimtab.decode.given_texts import check_texts, checked_documents, checked_texts
from trimtab.errors import InputError


@given(st.text() | st.binary() | st.binary().map(bytearray))
def test_one_text_is_refused_with_how_it_is_written_as_a_list(text):
    with pytest.raises(InputError) as caught:
        check_texts(text, name="lines")
    assert caught.value.problems[0].fix == 'put it into a list: ["..."]'
    assert has_four_parts(f"error: {caught.value}")


def test_of_a_long_text_the_beginning_is_shown():
    with pytest.raises(InputError, match=r"got     str: 'a{40}' and 5,000 more\n"):
        check_texts("a" * 5040, name="lines")


@given(st.lists(st.text()))
def test_lists_and_whatever_else_gives_texts_are_taken(texts):
    for each in (texts, tuple(texts), iter(texts), (text for text in texts)):
        check_texts(each, name="lines")


@pytest.mark.parametrize("texts", [None, 1, 2.5])
def test_what_holds_no_texts_is_refused(texts):
    with pytest.raises(InputError, match="lines: not a list of texts") as caught:
        check_texts(texts, name="lines")
    assert has_four_parts(f"error: {caught.value}")


@for_each("odd", [None, 1, b"a", ["a"]])
def test_an_entry_that_is_no_text_is_named_by_its_number_in_a_list_at_once_and_elsewhere_in_its_turn(odd):
    with pytest.raises(InputError, match="lines: number 2 is not a text") as caught:
        checked_texts(["a", odd], name="lines")
    assert has_four_parts(f"error: {caught.value}")
    texts = iter(checked_texts(iter(["a", odd]), name="lines"))
    assert next(texts) == "a"
    with pytest.raises(InputError, match="number 2"):
        next(texts)


@given(st.lists(st.text()))
def test_texts_that_are_texts_come_through_as_they_are(texts):
    assert list(checked_texts(texts, name="lines")) == texts
    assert list(checked_texts(iter(texts), name="lines")) == texts


def test_documents_are_lists_of_sentences_and_read_one_after_another():
    read = []
    documents = (read.append(number) or [f"{number}"] for number in range(3))
    found = checked_documents(documents)
    assert (next(found), read) == (["0"], [0])
    assert list(found) == [["1"], ["2"]]
    with pytest.raises(InputError, match="documents: a single text"):
        checked_documents("AB")
    found = checked_documents([["A"], "AB"])
    assert next(found) == ["A"]
    with pytest.raises(InputError, match="document 2: a single text"):
        next(found)
