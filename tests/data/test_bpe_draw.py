import functools
import io

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.data.slow_bpe import slow_split
from tests.data.small_text import sentences
from tests.for_each import for_each
from trimtab.data import drawn_splits
from trimtab.data.bpe_draw import BpeDraw
from trimtab.data.order import stream_keys
from trimtab.data.piece_table import PieceTable

MODELS = {
    "unknown": {"vocab_size": 200},
    "bytes": {"byte_fallback": True, "vocab_size": 460},
    "user": {"user_defined_symbols": ["<a>", "<ab>"], "vocab_size": 200},
    "across words": {"split_by_whitespace": False, "vocab_size": 300},
}


@functools.cache
def processor(name):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, model_type="bpe", pad_id=0, unk_id=1, bos_id=2,
        eos_id=3, hard_vocab_limit=False, minloglevel=2, **MODELS[name],
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def draw_of(name, dropout):
    return BpeDraw.of(PieceTable.of(processor(name)), dropout)


def keys_of(texts, *, seed=1):
    return stream_keys(seed, np.arange(len(texts)))


def texts_of(name, count=80):
    return [processor(name).normalize(line) for line in sentences(count, seed=5)]


@for_each("name", MODELS)
def test_without_dropout_it_is_the_split_of_the_library(name):
    lines = [*sentences(200, seed=5), "", "ship 漢字 漢 shipé", "see <ab>, <a><a>the"]
    texts = [processor(name).normalize(line) for line in lines]
    assert draw_of(name, 0.0).splits(texts, keys_of(texts)) == [
        processor(name).encode(line) for line in lines
    ]


@pytest.mark.quick("0.1-unknown", "0.6-across words")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dropout", [0.1, 0.6])
def test_sentences_are_split_as_by_the_slow_twin(name, dropout):
    draw, texts = draw_of(name, dropout), texts_of(name)
    assert draw.splits(texts, keys_of(texts)) == [
        slow_split(draw.table, dropout, text, key) for text, key in zip(texts, keys_of(texts), strict=True)
    ]


@pytest.mark.parametrize("name", MODELS)
@given(texts=st.lists(st.text("shiptea b▁<>é漢", max_size=30), max_size=5), seed=st.integers(0, 2**63 - 1))
def test_any_texts_are_split_as_by_the_slow_twin(name, texts, seed):
    draw, keys = draw_of(name, 0.3), keys_of(texts, seed=seed)
    expected = [slow_split(draw.table, 0.3, text, key) for text, key in zip(texts, keys, strict=True)]
    assert draw.splits(texts, keys) == expected


@pytest.mark.quick("40", "1000")
@pytest.mark.parametrize("most", [1, 40, 1000])
def test_a_split_does_not_depend_on_what_is_split_with_it(monkeypatch, most):
    draw, texts = draw_of("bytes", 0.3), texts_of("bytes")
    whole = draw.splits(texts, keys_of(texts))
    monkeypatch.setattr(drawn_splits, "_CHARACTERS_AT_ONCE", most)
    assert draw.splits(texts, keys_of(texts)) == whole
    assert draw.splits(texts[::-1], keys_of(texts)[::-1])[::-1] == whole


def test_with_full_dropout_nothing_is_merged():
    text = processor("unknown").normalize("ship boat")
    (ids,) = draw_of("unknown", 1.0).splits([text], keys_of([text]))
    assert len(ids) == len(text)


def test_splits_are_written_in_stone():
    # A change of these would give every resumed run other splits than it began with.
    pieces = {"ab": -0.0, "▁a": -1.0, "abab": -2.0, "▁": -3.0, "a": -4.0, "b": -5.0}
    scores = {piece: (id, score) for id, (piece, score) in enumerate(pieces.items())}
    draw = BpeDraw.of(PieceTable(scores, 9, -15.0, (), {}, None, by_word=True), 0.4)
    rows = draw.splits(["▁ababa▁aab"] * 3, stream_keys(1, np.arange(3)))
    assert [" ".join(list(pieces)[id] for id in row) for row in rows] == [
        "▁ ab a b a ▁a a b",
        "▁ ab ab a ▁ a ab",
        "▁ ab ab a ▁ a a b",
    ]
