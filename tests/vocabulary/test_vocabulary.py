from collections import Counter

from tests.vocabulary.folders import lines, spm
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.table_vocabulary import TableVocabulary
from trimtab.vocabulary.vocabulary import missing_characters, reader_of


def test_frequent_characters_without_a_piece_come_first_and_single_ones_never():
    words = Counter({"aé": 3, "éß": 4, "ø": 1})
    assert missing_characters(words, "a", most=9) == {"é": 7, "ß": 4}
    assert missing_characters(words, "a", most=1) == {"é": 7}


def test_inner_characters_of_word_pieces_are_pieces_of_their_own():
    assert missing_characters(Counter({"éé": 3}), ["é"], most=9, prefix="##") == {"##é": 3}


def test_each_text_is_split_by_the_model_of_its_language():
    models = tuple(SentencePieceVocabulary(spm(side=side, size=500), "m") for side in (0, 1))
    pieces = [piece for model in models for piece in model.ids]
    table = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    both = TableVocabulary(table, models, ())
    assert [reader_of(both, lines(side)[:50]) for side in (0, 1)] == [0, 1]
    assert reader_of(models[0], lines(1)) == 0
