import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.vocabulary.folders import byte_level, lines, spm
from trimtab.vocabulary.fast_vocabulary import FastVocabulary
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.split import (
    ancestors,
    bpe_split,
    segments_of,
    unigram_split,
    wordpiece_split,
    words_of,
)


def test_unigram_and_bpe_split_words_as_sentencepiece_does():
    for kind in ("unigram", "bpe"):
        vocabulary = SentencePieceVocabulary(spm(kind), "m")
        processor = sentencepiece.SentencePieceProcessor(model_proto=spm(kind))
        # A character without a piece has no split here, and is the unknown piece there.
        known = [line for line in lines(1)[:80] if processor.unk_id() not in processor.encode(line)]
        assert len(known) > 60
        for line in known:
            words = words_of(processor.normalize(line))
            found = [piece for word in words for piece in vocabulary._split(word) or ()]
            assert found == processor.encode(line, out_type=str), line


def test_bpe_splits_as_tokenizers_does_and_every_piece_is_one_of_its_own_ancestors():
    made = byte_level()
    vocabulary = FastVocabulary(made.to_str().encode())
    for line in lines(0)[:100]:
        for word, _ in made.pre_tokenizer.pre_tokenize_str(line):
            pieces, seen = bpe_split(word, vocabulary._rank)
            assert pieces == [each.value for each in made.model.tokenize(word)]
            assert {*pieces} <= seen
            assert ancestors(pieces, vocabulary._rank) <= seen | {*word}


def test_a_character_without_a_piece_has_no_unigram_split():
    assert unigram_split("ab", {"a": -1.0}, longest=1) is None
    assert unigram_split("aab", {"a": -1.0, "aa": -1.5, "b": -1.0}, longest=2) == ["aa", "b"]


def test_word_pieces_are_the_longest_from_the_left():
    known = dict.fromkeys(["un", "unab", "##able", "##a", "##ble", "##le"], 0)
    assert wordpiece_split("unable", known, prefix="##") == ["unab", "##le"]
    assert wordpiece_split("unbroken", known, prefix="##") is None


@given(st.text("ab▁", max_size=12))
def test_words_are_all_of_the_text(text):
    for behind in (False, True):
        assert "".join(words_of(text, behind=behind)) == text


def test_words_begin_or_end_with_the_sign_for_a_space():
    assert words_of("▁a▁▁bc") == ["▁a", "▁▁bc"]
    assert words_of("a▁▁bc▁", behind=True) == ["a▁▁", "bc▁"]


def test_a_word_is_cut_at_characters_without_a_piece():
    found = segments_of("abxcyd", lambda run: [*run], alone=frozenset("x"), held=lambda each: each in "abcd")
    assert found == [["a", "b", "x", "c"], ["d"]]
