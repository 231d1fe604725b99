import pytest

from tests.small_run import small_parts
from trimtab.data.exact_text import ExactText
from trimtab.data.same_vocabulary import SameVocabulary


@pytest.mark.parametrize("around", [SameVocabulary, ExactText])
def test_the_ids_are_those_of_the_tokenizer_inside(around, tmp_path):
    inner = small_parts(tmp_path).datasets.tokenizer
    names = ("num_ids", "pad", "unknown", "start", "end")
    assert [getattr(around(inner), name) for name in names] == [getattr(inner, name) for name in names]
    assert len({inner.pad, inner.unknown, inner.start, inner.end}) == 4
