import functools
import gc
import io
import tracemalloc

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.data.slow_unigram import slow_split
from tests.data.small_text import sentences, small_tokenizer
from trimtab.data import drawn_splits
from trimtab.data.order import stream_keys
from trimtab.data.piece_table import PieceTable
from trimtab.data.unigram_draw import UnigramDraw

MODELS = {
    "bytes": {"byte_fallback": True, "vocab_size": 420},
    "unknown": {"vocab_size": 150},
    "user": {"user_defined_symbols": ["<a>", "<ab>", "▁the"], "vocab_size": 150},
    "across words": {"split_by_whitespace": False, "vocab_size": 300},
}
LETTERS = "shiptea b▁<>é漢字"


@functools.cache
def table_of(name):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600)), model_writer=model, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
        hard_vocab_limit=False, minloglevel=2, **MODELS[name],
    )  # fmt: skip
    return PieceTable.of(sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()))


def draw_of(name, alpha):
    table = table_of(name)
    return UnigramDraw.of(table, alpha)


def keys_of(texts, *, seed=1):
    return stream_keys(seed, np.arange(len(texts)))


def test_the_models_are_of_the_kinds_that_they_are_here_for():
    assert table_of("bytes").bytes
    assert not table_of("unknown").bytes
    assert table_of("user").whole.keys() == {"<a>", "<ab>", "▁the"}
    assert not table_of("across words").by_word


@pytest.mark.quick("0.1-bytes", "1.0-user", "100.0-across words")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 100.0])
def test_sentences_are_split_as_by_the_slow_twin(name, alpha):
    draw = draw_of(name, alpha)
    texts = ["▁" + line.replace(" ", "▁") for line in sentences(60, seed=2)]
    expected = [
        slow_split(draw.table, alpha, text, key) for text, key in zip(texts, keys_of(texts), strict=True)
    ]
    assert draw.splits(texts, keys_of(texts)) == expected


@pytest.mark.parametrize("name", MODELS)
@given(texts=st.lists(st.text(LETTERS, max_size=30), max_size=5), seed=st.integers(0, 2**63 - 1))
def test_any_texts_are_split_as_by_the_slow_twin(name, texts, seed):
    draw, keys = draw_of(name, 0.2), keys_of(texts, seed=seed)
    expected = [slow_split(draw.table, 0.2, text, key) for text, key in zip(texts, keys, strict=True)]
    assert draw.splits(texts, keys) == expected


@pytest.mark.quick("40", "1000")
@pytest.mark.parametrize("most", [1, 40, 1000])
def test_a_split_does_not_depend_on_what_is_split_with_it(monkeypatch, most):
    draw = draw_of("bytes", 0.1)
    texts = ["▁" + line.replace(" ", "▁") for line in sentences(80, seed=4)]
    whole = draw.splits(texts, keys_of(texts))
    monkeypatch.setattr(drawn_splits, "_CHARACTERS_AT_ONCE", most)
    assert draw.splits(texts, keys_of(texts)) == whole
    backwards = draw.splits(texts[::-1], keys_of(texts)[::-1])
    assert backwards[::-1] == whole


@pytest.mark.parametrize("text", ["", "▁", "漢", "▁漢字漢", "▁" * 5])
@pytest.mark.parametrize("name", MODELS)
def test_odd_texts_have_a_split(name, text):
    (ids,) = draw_of(name, 0.1).splits([text], keys_of([text]))
    assert (ids == []) == (text == "")
    assert draw_of(name, 0.1).splits([], keys_of([])) == []


def test_very_unlikely_pieces_and_very_long_words_stay_within_numbers():
    draw = draw_of("unknown", 100.0)
    text = "▁" + "shipé" * 4000
    (ids,) = draw.splits([text], keys_of([text]))
    spelled = {id: piece for piece, (id, _) in draw.table.scores.items()}
    assert "".join(spelled.get(id, "é") for id in ids) == text


def test_splits_are_written_in_stone():
    # A change of these would give every resumed run other splits than it began with.
    pieces = {"▁": -2.0, "a": -2.5, "b": -3.0, "ab": -3.5, "▁a": -3.0, "aba": -5.0}
    scores = {piece: (id, score) for id, (piece, score) in enumerate(pieces.items())}
    draw = UnigramDraw.of(PieceTable(scores, 9, -15.0, (), {}, None, by_word=True), 0.2)
    rows = draw.splits(["▁ababa▁aab"] * 3, stream_keys(1, np.arange(3)))
    assert [" ".join(list(pieces)[id] for id in row) for row in rows] == [
        "▁ a b aba ▁ a ab",
        "▁ a b aba ▁a a b",
        "▁ ab ab a ▁ a ab",
    ]


def test_nothing_is_kept_of_what_was_split():
    """Kept lattices were millions of objects, which the garbage collector went through again and again."""
    tokenizer = small_tokenizer()
    table = PieceTable.of(tokenizer.processor)
    draw = UnigramDraw.of(table, 0.1)

    def split(seed):
        texts = [f"▁{line}{number}" for number, line in enumerate(sentences(300, seed=seed))]
        draw.splits(texts, keys_of(texts))
        gc.collect()

    split(0)
    objects = len(gc.get_objects())
    tracemalloc.start()
    split(1)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(gc.get_objects()) <= objects + 50
    assert kept < 100_000
