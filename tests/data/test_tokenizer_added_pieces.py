from tests.data.small_text import small_tokenizer
from trimtab.data.piece_map import map_pieces
from trimtab.data.tokenizer import with_missing


def test_symbols_and_pieces_are_added_behind_and_ids_stay():
    old = small_tokenizer()
    new = with_missing(old, symbols=["<ui>", "<web>"], pieces=["⟦0⟧"])
    assert new.num_ids == old.num_ids + 2, "<ui> is there already"
    assert new.symbols == ("<ui>", "<web>")
    line = "a small <web> line"
    assert new.encode([line]) == old.encode([line]), "no text becomes a tag"
    assert [new.piece(id) for id in new.encode(["a⟦0⟧b"])[0]].count("⟦0⟧") == 1
    assert new.decode(new.encode_with_tags([line], ["<web>"])) == old.decode(old.encode([line]))
    pieces = map_pieces(old, new)
    assert pieces.same[: old.num_ids] == tuple(range(old.num_ids))
    assert pieces.num_dropped == 0


def test_a_tokenizer_that_lacks_nothing_is_the_same():
    old = small_tokenizer()
    assert with_missing(old, symbols=["<ui>"], pieces=[]) is old
