import random

from hypothesis import given
from hypothesis import strategies as st

from tests.data.small_text import sentences, small_tokenizer
from tests.sentencepiece_files import piece, with_pieces
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.piece_map import map_pieces
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizer import train_tokenizer


def changed(change, *, symbols=("<ui>",)):
    return SentencePiece(with_pieces(small_tokenizer().model, change), symbols=symbols)


def test_a_vocabulary_maps_to_itself():
    old = small_tokenizer()
    found = map_pieces(old, small_tokenizer())
    assert found.same == tuple(range(old.num_ids))
    assert (found.spelled, found.num_dropped) == ({}, 0)
    assert str(found).startswith("400 of 400 pieces copied, 0 new ones")


@given(st.integers(0, 2**32))
def test_an_order_is_undone(seed):
    old = small_tokenizer()
    order = random.Random(seed).sample(range(old.num_ids), old.num_ids)
    new = changed(lambda pieces: [pieces[id] for id in order])
    assert map_pieces(old, new).same == tuple(order)
    assert map_pieces(old, new).num_dropped == 0
    assert (new.pad, new.end) == (order.index(old.pad), order.index(old.end))


def test_new_pieces_are_spelled_as_the_old_tokenizer_cuts_them():
    old = small_tokenizer()
    texts = ["▁the▁small", "▁rudder▁turns", "▁Дом"]
    new = changed(lambda pieces: pieces + [piece(text, score=-99) for text in texts])
    found = map_pieces(old, new)
    assert found.same[:400] == tuple(range(400))
    assert found.same[400:] == (None, None, None)
    for id, text in zip((400, 401, 402), ("the small", "rudder turns", "Дом"), strict=True):
        assert found.spelled[id] == old.encode([text])[0][:-1]
    assert all(old.is_byte[id] for id in found.spelled[402][1:]), "letters that the old one lacks are bytes"


def test_a_piece_inside_a_word_is_not_spelled_as_the_beginning_of_one():
    old = small_tokenizer()
    new = changed(lambda pieces: [*pieces, piece("udde", score=-99)])
    spelled = map_pieces(old, new).spelled[400]
    assert "".join(old.piece(id) for id in spelled) == "udde"


def test_what_is_gone_is_counted_and_comes_back_as_new():
    old = small_tokenizer()
    new = changed(lambda pieces: pieces[:390])
    assert map_pieces(old, new).num_dropped == 10
    back = map_pieces(new, old)
    assert back.num_dropped == 0
    assert set(back.spelled) == set(range(390, 400))


def test_tags_belong_to_tags_alone(tmp_path):
    old = small_tokenizer()
    config = SentencePieceTokenizer(vocabulary_size=400)
    new = train_tokenizer(config, lines=sentences(600), symbols=["<ui>", "<new>"], out=tmp_path)
    found = map_pieces(old, new)
    assert found.same[new.id("<ui>")] == old.id("<ui>")
    fresh = new.id("<new>")
    assert found.same[fresh] is None
    assert fresh not in found.spelled
    text = changed(lambda pieces: [*pieces, piece("<new>", score=-99)])
    assert map_pieces(text, new).same[fresh] is None, "the same letters, and yet text"


def test_without_bytes_what_was_never_seen_has_no_spelling():
    old = small_tokenizer(byte_fallback=False)
    new = SentencePiece(
        with_pieces(old.model, lambda pieces: [*pieces, piece("Дом", score=-9)]), symbols=["<ui>"]
    )
    found = map_pieces(old, new)
    assert found.same[old.num_ids] is None
    assert found.spelled == {}
