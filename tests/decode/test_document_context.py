from hypothesis import given
from hypothesis import strategies as st

from trimtab.decode.document_context import ALONE, DocumentContext, Written, with_context

BOTH = DocumentContext(
    sentences=2, both=True, whole=False, source_separator=90, target_separator=91, num_tags=1
)
BEFORE = [Written([10, 11], [20]), Written([12], [21, 22]), Written([13], [23])]


def test_the_last_sentences_stand_behind_the_tags_and_their_translations_are_given():
    row = with_context([5, 7, 8, 3], BEFORE, BOTH, max_tokens=64)
    assert row == ([5, 12, 90, 13, 90, 7, 8, 3], [21, 22, 91, 23, 91])


def test_a_model_of_sentences_has_nothing_before_them():
    assert with_context([7, 3], BEFORE, ALONE, max_tokens=64) == ([7, 3], [])


def test_a_sentence_without_a_translation_is_left_out():
    row = with_context([5, 7, 3], [BEFORE[0], Written([12], [])], BOTH, max_tokens=64)
    assert row == ([5, 10, 11, 90, 7, 3], [20, 91])


sizes = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=4)


@given(before=sizes, own=st.integers(2, 32), sentences=st.integers(0, 4))
def test_no_row_is_longer_than_the_model_can_read_and_the_sentence_is_whole(before, own, sentences):
    context = DocumentContext(
        sentences=sentences, both=True, whole=False, source_separator=90, target_separator=91
    )
    written = [Written([10] * source, [20] * target) for source, target in before]
    ids = [*range(30, 30 + own - 1), 3]
    row, target = with_context(ids, written, context, max_tokens=32)
    assert len(row) <= 32
    assert len(target) < 32
    assert row[len(row) - own :] == ids
    assert row.count(90) == target.count(91) <= min(sentences, len(before))
