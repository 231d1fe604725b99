import pytest

from tests.vocabulary.folders import lines, spm
from trimtab.errors import InputError
from trimtab.vocabulary.selection import select
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.vocabulary import Text

TEXT = Text("de", lines(1)[:60])


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def vocabulary(request):
    return SentencePieceVocabulary(spm(request.param), "m")


@pytest.mark.quick("bpe")
def test_what_a_text_needs_stays_with_the_letters_of_its_alphabet_up_to_a_multiple_of_eight(vocabulary):
    change = select(vocabulary, [TEXT], size=None, least=1)
    kept = {*change.new_ids}
    assert all(change.map(row) for row in vocabulary.encode(TEXT.lines))
    assert len(kept) % 8 == 0
    letters = {id for id in range(vocabulary.num_ids) if vocabulary.piece(id) in {*"qxyzéá"}}
    assert letters <= kept
    assert [*change.origins] == sorted(kept)


@pytest.mark.parametrize("size", [200, 333])
def test_a_size_is_met_with_the_most_used_pieces_and_what_they_are_made_of(vocabulary, size):
    change = select(vocabulary, [TEXT], size=size, least=1)
    assert len(change.origins) == size
    assert vocabulary.with_ancestors(change.new_ids) == {*change.new_ids}


def test_without_a_text_the_most_useful_pieces_stay(vocabulary):
    change = select(vocabulary, [], size=100, least=1)
    rest = [id for id in change.new_ids if id not in vocabulary.protected]
    if vocabulary.algorithm == "unigram":
        assert {*rest} == {*vocabulary.by_usefulness()[: len(rest)]}
    assert len(change.origins) == 100


def test_rare_pieces_go_where_that_is_asked(vocabulary):
    sizes = [len(select(vocabulary, [TEXT], size=None, least=least).origins) for least in (1, 5)]
    assert sizes[1] < sizes[0]


def test_ids_that_the_model_names_stay(vocabulary):
    last = vocabulary.by_usefulness()[-1]
    assert last in select(vocabulary, [], size=50, least=1, special=[last]).new_ids


@pytest.mark.parametrize("size", [1, 700, 10_000])
def test_a_size_that_does_not_fit_is_wrong_input(vocabulary, size):
    with pytest.raises(InputError, match="--size: does not fit this vocabulary"):
        select(vocabulary, [TEXT], size=size, least=1)
