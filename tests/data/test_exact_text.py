import functools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.small_text import sentences, small_tokenizer
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.byte_pieces import byte_model
from trimtab.data.exact_text import NEWLINE, ExactText, check_exact
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizer import train_tokenizer
from trimtab.errors import InputError
from trimtab.types import Tokenizer


@functools.cache
def exact_tokenizer(model="unigram"):
    config = SentencePieceTokenizer(model=model, vocabulary_size=400, normalization="identity")
    with tempfile.TemporaryDirectory() as folder:
        trained = train_tokenizer(
            config, lines=sentences(600), symbols=["<sep>"], pieces=(NEWLINE,), out=Path(folder), exact=True
        )
    return ExactText(trained)


TEXTS = st.text(st.one_of(st.sampled_from("a the\n\t\r▁ﬁＡ\u3000\x00<sep>"), st.characters(codec="utf-8")))


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_every_text_comes_back_as_it_was(model):
    tokenizer = exact_tokenizer(model)

    @given(TEXTS)
    def comes_back(text):
        assert tokenizer.decode(tokenizer.ids([text])) == [text]

    comes_back()


@given(TEXTS, st.data())
def test_so_does_one_that_is_cut_anywhere(text, data):
    ids = exact_tokenizer().ids([text])[0]
    cut = data.draw(st.integers(0, len(ids)))
    whole = exact_tokenizer().decode([ids])[0]
    # A cut through a character that is spelled in bytes is fixed by those who decode both parts together.
    parts = "".join(exact_tokenizer().decode([ids[:cut], ids[cut:]]))
    assert parts == whole or "\N{REPLACEMENT CHARACTER}" in parts


def test_a_newline_is_one_piece_and_spaces_in_a_row_stay():
    tokenizer = exact_tokenizer()
    newline = tokenizer.inner.id(NEWLINE)
    ids = tokenizer.ids(["the ship\n\n  turns"])[0]
    assert ids.count(newline) == 2
    assert tokenizer.decode([ids]) == ["the ship\n\n  turns"]


def test_it_is_a_tokenizer_and_ends_rows_with_the_end_symbol():
    tokenizer = exact_tokenizer()
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.encode(["a", ""]) == [[*tokenizer.ids(["a"])[0], tokenizer.end], [tokenizer.end]]
    assert tokenizer.decode([[tokenizer.start, *tokenizer.ids(["a"])[0], tokenizer.end, tokenizer.pad]]) == [
        "a"
    ]


def test_a_tokenizer_that_changes_texts_is_refused():
    check_exact(exact_tokenizer().inner, key="data.tokenizer")
    check_exact(SentencePiece(byte_model([])), key="data.tokenizer")
    with pytest.raises(InputError, match=r"data\.tokenizer\.path: the tokenizer changes texts"):
        check_exact(small_tokenizer(), key="data.tokenizer")
