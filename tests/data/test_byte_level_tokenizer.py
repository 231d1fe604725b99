"""The byte-level tokenizer of a run: trained, stored, opened, adopted, refused."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from trimtab.config.tokenizer import ByteLevelBpeTokenizer, SuperBpeTokenizer
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level, train_byte_level, transition_of
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.piece_map import map_pieces
from trimtab.data.stored_tokenizer import load_stored
from trimtab.errors import InputError
from trimtab.progress import Silent

LINES = [
    "the cat sat on the mat",
    "of the dog and of the cat",
    "the mat of the dog",
    "ﬁ é ü",
    "a list of prices and of houses in a garden",
] * 6


def made(folder: Path, *, config: Any = None, lines: list[str] = LINES, **rest: Any) -> FastTokenizer:
    config = config or SuperBpeTokenizer(transition_size=300)
    return make_byte_level(
        config, lambda: lines, symbols=Symbols(**rest), out=folder, key="data.tokenizer", progress=Silent()
    )


def test_what_is_stored_opens_as_the_very_same(tmp_path: Path) -> None:
    tokenizer = made(tmp_path, tags=["<de>"], pieces=["⟦0⟧"])
    again = load_stored(tmp_path)
    assert again.fingerprint == tokenizer.fingerprint
    assert again.symbols == ("<de>",)
    assert again.encode_with_tags(LINES, ["<de>"]) == tokenizer.encode_with_tags(LINES, ["<de>"])
    assert pickle.loads(pickle.dumps(tokenizer)).fingerprint == tokenizer.fingerprint


def test_tags_stand_before_a_line_and_no_text_becomes_one(tmp_path: Path) -> None:
    tokenizer = made(tmp_path, tags=["<de>"])
    tagged, plain = (
        tokenizer.encode_with_tags(["the <de> cat"], ["<de>"])[0],
        tokenizer.encode(["the <de> cat"])[0],
    )
    assert tagged == [tokenizer.id("<de>"), *plain]
    assert tokenizer.id("<de>") not in plain
    assert tokenizer.decode([tagged]) == ["the <de> cat"]
    with pytest.raises(InputError, match="no piece"):
        tokenizer.encode_with_tags(["a"], ["<fr>"])


def test_symbols_have_ids_of_their_own_and_rows_end(tmp_path: Path) -> None:
    tokenizer = made(tmp_path)
    assert (tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end) == (0, 1, 2, 3)
    assert tokenizer.encode(["the", ""])[1] == [3]
    assert tokenizer.num_ids == tokenizer.num_pieces


@pytest.mark.parametrize("normalization", ["identity", "nfc", "nfkc"])
def test_texts_are_normalised_as_the_recipe_says(normalization: str) -> None:
    config = SuperBpeTokenizer(transition_size=300, normalization=normalization)
    tokenizer = train_byte_level(config, LINES)
    expected = {"identity": "e\u0301 ﬁ", "nfc": "é ﬁ", "nfkc": "é fi"}[normalization]
    assert tokenizer.decode(tokenizer.encode(["e\u0301 ﬁ"])) == [expected]


def test_a_default_size_shrinks_to_the_text_and_a_written_one_is_refused(tmp_path: Path) -> None:
    tokenizer = made(tmp_path / "a")
    assert 300 <= tokenizer.num_ids < 600
    with pytest.raises(InputError, match=f"set data.tokenizer.vocabulary_size to {tokenizer.num_ids}"):
        made(tmp_path / "b", config=SuperBpeTokenizer(vocabulary_size=5000, transition_size=300))
    fitting = SuperBpeTokenizer(vocabulary_size=tokenizer.num_ids, transition_size=300)
    assert made(tmp_path / "c", config=fitting).num_ids == tokenizer.num_ids


def test_no_text_and_no_room_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no text"):
        made(tmp_path, lines=["", " "])
    tags = [f"<{number}>" for number in range(60)]
    with pytest.raises(InputError, match="no room"):
        made(tmp_path, config=ByteLevelBpeTokenizer(vocabulary_size=310), tags=tags)
    for tag in ("a", "<pad>"):
        with pytest.raises(InputError, match="already has a meaning"):
            made(tmp_path, tags=[tag])
    with pytest.raises(InputError, match="surrogate"):
        made(tmp_path / "c").encode(["\ud800"])


def test_a_tokenizer_is_adopted_from_a_folder(tmp_path: Path) -> None:
    first = made(tmp_path / "a", tags=["<de>"])
    adopted = made(tmp_path / "b", config=SuperBpeTokenizer(path=str(tmp_path / "a")), tags=["<de>"])
    assert adopted.encode(LINES) == first.encode(LINES)
    with pytest.raises(InputError, match="lacks symbols"):
        made(tmp_path / "c", config=SuperBpeTokenizer(path=str(tmp_path / "a")), tags=["<fr>"])
    with pytest.raises(InputError, match="another size"):
        made(tmp_path / "c", config=SuperBpeTokenizer(path=str(tmp_path / "a"), vocabulary_size=400))
    with pytest.raises(InputError, match=r"fast_tokenizer\.json"):
        made(tmp_path / "c", config=SuperBpeTokenizer(path=str(tmp_path / "nothing")))
    (tmp_path / "a" / "fast_tokenizer.json").write_bytes(b"\x00{")
    with pytest.raises(InputError, match=r"data\.tokenizer\.path"):
        made(tmp_path / "c", config=SuperBpeTokenizer(path=str(tmp_path / "a")))


def test_superwords_begin_at_half_of_the_vocabulary_by_default() -> None:
    assert transition_of(SuperBpeTokenizer()) == 8000
    assert transition_of(SuperBpeTokenizer(transition_size=9000)) == 9000
    assert transition_of(SuperBpeTokenizer(vocabulary_size=300)) == 260


def test_a_warm_start_maps_pieces_by_their_text(tmp_path: Path) -> None:
    old = made(tmp_path / "a", config=ByteLevelBpeTokenizer())
    new = made(tmp_path / "b")
    found = map_pieces(old, new)
    for id, same in enumerate(found.same):
        assert same is None or old.piece(same) == new.piece(id)
    superword = next(id for id in found.spelled if "of the" in new.decode([[id]])[0])
    assert old.decode([found.spelled[superword]]) == new.decode([[superword]])
