"""The tokenizer of the folder against sentencepiece itself, on real text and on text that wants to break it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.demo_pairs import demo_pairs
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import InputError
from trimtab.export.hf.library import open_tokenizer
from trimtab.export.hf.marian_tokenizer import write_tokenizer

REAL = [line for pair in demo_pairs(1000) for line in pair]
TAGS = ("<2de>", "<formal>")
HOSTILE = [
    "</s>", "<pad> <unk>", "<s>a</s>", "a  b   c", " a ", "\ta", "<0x41>", "ﬁne Ⅷ ½", "日本語です。", "🙂👩‍👧 a",
    "a\u00a0b",
    "e\u0301", "▁a▁▁b", "a .b , c !", "don 't", "<2de> not a tag here", "&lt;b&gt;", "%1$s {0}",
]  # fmt: skip


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def plain(request, tmp_path_factory):
    return made(tmp_path_factory.mktemp("plain"), model=request.param)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    return made(tmp_path_factory.mktemp("tagged"), symbols=TAGS)


def made(folder, *, symbols=(), model="unigram"):
    config = SentencePieceTokenizer(vocabulary_size=900, model=model, byte_fallback=True)
    own = train_tokenizer(config, lines=REAL, symbols=symbols, out=folder / "own")
    write_tokenizer(Tokenizers(own, own), folder, max_tokens=64)
    return own, open_tokenizer(folder)


@pytest.mark.quick("bpe")
def test_real_lines_have_the_same_ids_and_the_same_text_again(plain):
    own, theirs = plain
    rows = own.encode(REAL)
    assert theirs(REAL)["input_ids"] == rows
    assert theirs.batch_decode(rows, skip_special_tokens=True) == [each.strip() for each in own.decode(rows)]


def test_text_that_is_spelled_like_a_symbol_is_text(plain):
    own, theirs = plain
    assert theirs(HOSTILE)["input_ids"] == own.encode(HOSTILE)


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30))
def test_so_is_any_text_that_does_not_begin_with_a_language_code(plain_unigram, text):
    own, theirs = plain_unigram
    if not (text.startswith(">>") and "<<" in text):
        assert theirs([text])["input_ids"] == own.encode([text])


@pytest.fixture(scope="module")
def plain_unigram(tmp_path_factory):
    return made(tmp_path_factory.mktemp("any"))


def test_a_line_that_begins_with_a_language_code_is_not_read_as_in_training(plain_unigram):
    """The limit that the model card tells, and why such lines are left out of the comparison."""
    own, theirs = plain_unigram
    assert theirs([">>a<< b"])["input_ids"] != own.encode([">>a<< b"])


def test_spaces_before_punctuation_stay(plain):
    own, theirs = plain
    row = own.encode(["a , b . don 't"])[0]
    assert theirs.decode(row, skip_special_tokens=True) == "a , b . don 't"


@pytest.mark.slow
def test_tags_written_before_a_line_are_the_ids_that_the_training_put_there(tagged):
    own, theirs = tagged
    lines = REAL[:200]
    written = [" ".join([*TAGS, line]) for line in lines]
    assert theirs(written)["input_ids"] == own.encode_with_tags(lines, TAGS)
    assert theirs.decode(own.encode_with_tags(["a b"], TAGS)[0], skip_special_tokens=True) == "a b"


def test_special_symbols_stand_where_they_stood(plain):
    own, theirs = plain
    found = theirs.pad_token_id, theirs.unk_token_id, theirs.bos_token_id, theirs.eos_token_id
    assert found == (own.pad, own.unknown, own.start, own.end)
    assert theirs.model_max_length == 64


def test_a_folder_without_a_tokenizer_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="cannot read its tokenizer"):
        open_tokenizer(tmp_path)
