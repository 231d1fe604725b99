"""`tokenizer.json` against sentencepiece itself, on real text and on text that wants to break it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.export.text_models import LINES, TEXTS, WINDOW, network, vocabulary
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.exact_text import ExactText
from trimtab.data.tokenizer import train_tokenizer
from trimtab.export.hf import llama
from trimtab.export.hf.library import open_tokenizer

HOSTILE = [
    "", " ", "  a", "a  b   c ", "\ta\t", "a\nb\n\n\nc\n", "\r\n", "</s>", "<pad> <unk>", "<s>a</s>", "<0x41>",
    "ﬁne Ⅷ ½", "日本語です。", "🙂👩‍👧 a", "a\u00a0b\u2028c", "e\u0301", "a .b , c !", "don 't",
    "&lt;b&gt;", "%1$s {0}", "\x00\x1b[0m",
]  # fmt: skip


@pytest.fixture(scope="module", params=["unigram", "bpe", "bytes"])
def both(request, tmp_path_factory):
    return made(request.param, tmp_path_factory.mktemp(request.param))


def made(kind, folder):
    tokenizer = vocabulary(kind)
    llama.write(network(tokenizer.num_ids), tokenizer, folder, window=WINDOW)
    return ExactText(tokenizer), open_tokenizer(folder)


def likelihood(own, ids) -> float:
    return sum(own.inner.processor.get_score(id) for id in ids)


@pytest.mark.quick("bpe")
def test_real_texts_have_the_same_ids_but_for_ties_and_come_back(both):
    own, theirs = both
    rows = own.ids(LINES + TEXTS)
    found = theirs(LINES + TEXTS)["input_ids"]
    assert all(ids[0] == own.start for ids in found)
    differing = [(ids[1:], row) for ids, row in zip(found, rows, strict=True) if ids[1:] != row]
    assert len(differing) <= 3
    assert all(
        likelihood(own, ids) == pytest.approx(likelihood(own, row), abs=1e-3) for ids, row in differing
    )
    assert theirs.batch_decode(rows, skip_special_tokens=True) == LINES + TEXTS


def test_spaces_newlines_and_what_is_spelled_like_a_symbol_are_text(both):
    own, theirs = both
    assert [ids[1:] for ids in theirs(HOSTILE)["input_ids"]] == own.ids(HOSTILE)
    assert theirs.batch_decode(own.ids(HOSTILE), skip_special_tokens=True) == HOSTILE


@pytest.fixture(scope="module")
def of_bytes(tmp_path_factory):
    return made("bytes", tmp_path_factory.mktemp("bytes"))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30))
def test_bytes_are_exact_for_any_text(of_bytes, text):
    own, theirs = of_bytes
    ids = theirs([text])["input_ids"][0][1:]
    assert ids == own.ids([text])[0] == [4 + byte for byte in text.encode()]
    assert theirs.decode(ids, skip_special_tokens=True) == text


def test_a_vocabulary_of_translators_is_written_as_it_is_too(tmp_path):
    config = SentencePieceTokenizer(vocabulary_size=900, model="bpe", normalization="nmt_nfkc")
    own = train_tokenizer(config, lines=LINES, symbols=(), out=tmp_path / "own")
    llama.write(network(own.num_ids), own, tmp_path, window=WINDOW)
    theirs = open_tokenizer(tmp_path)
    lines = [*LINES, " ﬁ  two ", "ｆｕｌｌ\twidth"]
    assert theirs(lines)["input_ids"] == [[own.start, *ids[:-1]] for ids in own.encode(lines)]
