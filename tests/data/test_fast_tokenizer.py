import pickle

import pytest

from tests.pretrained_folder import NUM_IDS, fast_tokenizer
from trimtab.data.exact_text import ExactText
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.errors import InputError

SPECIAL = SpecialIds(pad=2, unknown=0, start=1, end=2)
TEXTS = [" the  b ", "a\nb\n\n  c", "tab\t, ﬁ ａ\u00a0 ▁", "<|im_end|> is text", ""]


@pytest.fixture(scope="module")
def tokenizer():
    return FastTokenizer(fast_tokenizer().to_str().encode(), special=SPECIAL, num_ids=NUM_IDS)


def test_texts_come_back_as_they_were_and_symbols_in_them_are_text(tokenizer):
    exact = ExactText(tokenizer)
    rows = exact.ids(TEXTS)
    assert exact.decode(rows) == TEXTS
    assert all(id > 2 for row in rows for id in row)
    assert exact.encode(TEXTS) == tokenizer.encode(TEXTS) == [[*row, 2] for row in rows]


def test_lines_never_hold_what_ends_a_line(tokenizer):
    assert tokenizer.decode(tokenizer.ids(["a\n\nb"])) == ["a b"]


def test_a_chat_is_read_with_its_symbols(tokenizer):
    found = tokenizer.encode_chat("<|im_start|>the<|im_end|>")
    assert [tokenizer.piece(id) for id in found] == ["<|im_start|>", "the", "<|im_end|>"]
    assert tokenizer.decode_with_symbols(found) == "<|im_start|>the<|im_end|>"
    assert tokenizer.special_ids == {0, 1, 2}


def test_ids_beyond_the_pieces_have_no_spelling(tokenizer):
    assert tokenizer.num_pieces < tokenizer.num_ids == NUM_IDS
    assert tokenizer.piece(NUM_IDS - 1) == ""
    assert len(tokenizer.is_byte) == NUM_IDS
    with pytest.raises(InputError, match="has no piece '<ui>'"):
        tokenizer.id("<ui>")


def test_it_travels_to_workers_and_knows_itself(tokenizer):
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.fingerprint == tokenizer.fingerprint
    assert again.ids(TEXTS) == tokenizer.ids(TEXTS)
    other = FastTokenizer(tokenizer.content, special=SPECIAL, num_ids=NUM_IDS, template="x")
    assert other.fingerprint != tokenizer.fingerprint


def test_half_characters_and_damaged_files_are_refused(tokenizer):
    with pytest.raises(InputError, match="lone surrogate"):
        tokenizer.ids(["a\ud800"])
    with pytest.raises(InputError, match="not a tokenizer that can be read"):
        FastTokenizer(b"{}", special=SPECIAL, num_ids=1)
