"""Byte-level BPE and SuperBPE: what is merged, and that every reader of the file splits texts alike."""

import random
import re
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.byte_pair_merges import encoded, plain_merges
from trimtab.data.byte_level_bpe import (
    CHUNKS,
    WORDS,
    Counted,
    Merges,
    all_bytes,
    compiled,
    framed,
    letters,
    spelled,
    tokenizer_json,
    train_subwords,
    train_superwords,
)

tokenizers = pytest.importorskip("tokenizers")
SYMBOLS = ("<pad>", "<unk>", "<s>", "</s>", "<ui>")
DEMO = Path(__file__).parents[2] / "src/trimtab/demo/data"
LINES = [
    *[
        "the cat sat on the mat, and the dog sat on the log.",
        "of the cat: of the dog",
        "一つの文。次の文です。",
    ],
    *["a  b\t c", "price 12345 of the cat", "(see the mat)...", "<ui> the <ui>", " Ünïcode of the naïve é"],
] * 3
HOSTILE = [
    *["", " ", "  ", "\n", "\r\n\r\n", "\t \t", "a\x00b", "\ufeffa", "\u2028", "e\u0301\u0301", "\U0010ffff"],
    *[
        "👩\u200d👩\u200d👧 the",
        "١٢٣٤٥",
        "Ⅷ½²",
        "Ġthe",
        "<pad></s><ui>",
        "....!!??",
        "x" * 3000,
        "。" * 50,
        "\u3000 a",
    ],
]
ANY_LINE = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.text(
    "the cat.:  \t\n12一。é", max_size=60
)


def superwords(lines: list[str], *, size: int = 420, subwords: int = 330) -> Merges:
    return train_superwords(lines, num_pieces=size, num_subwords=subwords, longest_words=3, longest=64)


def opened(merges: Merges, *, pattern: str = CHUNKS):
    content = tokenizer_json(merges, symbols=SYMBOLS, normalization="identity", pattern=pattern)
    made = tokenizers.Tokenizer.from_str(content.decode())
    made.encode_special_tokens = True
    return made


def by_hand(text: str, merges: Merges, *, pattern: str) -> list[int]:
    """The ids of a text, without the library."""
    ids: list[int] = []
    for part in compiled(f"({pattern})").split(text):
        ids += [each + len(SYMBOLS) for each in encoded(part.encode(), merges.pairs)]
    return ids


@pytest.fixture(scope="module")
def trained() -> Merges:
    return superwords(LINES)


def test_the_two_stages_are_those_of_the_obvious_algorithm(trained: Merges) -> None:
    pieces = all_bytes()
    words = Counter(word for line in LINES for word in compiled(WORDS).findall(line))
    order = sorted(words)
    rule = is_whole_or_part
    first = plain_merges(
        [word.encode() for word in order], [words[word] for word in order], pieces, 330 - 256, may_merge=rule
    )
    learned = len(pieces)
    chunks = Counter(part for line in LINES for part in compiled(f"({CHUNKS})").split(line) if part)

    def stage_two(piece: bytes) -> bool:
        text = piece.decode(errors="replace")
        return rule(piece) and len(text.split()) <= 3 and ": " not in text

    rows = [encoded(chunk.encode(), first) for chunk in chunks]
    second = plain_merges(rows, list(chunks.values()), pieces, 420 - learned, may_merge=stage_two)
    assert trained.pairs == first + second
    assert trained.pieces == pieces
    assert trained.num_subwords == learned


def is_whole_or_part(piece: bytes) -> bool:
    """Whole characters, or bytes that stand inside of one character."""
    try:
        piece.decode()
    except UnicodeDecodeError:
        return piece in parts()
    return True


@cache
def parts() -> set[bytes]:
    """What stands inside of a character of several bytes, or is one."""
    ranges = range(0x80, 0x3100), range(0x4E00, 0x9FFF), range(0xFF00, 0xFFEF)
    codes = [chr(each).encode() for each in chain(*ranges)]
    return {
        code[first:stop]
        for code in codes
        for first in range(len(code))
        for stop in range(first + 1, len(code) + 1)
    }


def test_superwords_cross_spaces_and_subwords_do_not(trained: Merges) -> None:
    crossing = [piece for piece in trained.pieces if re.search(rb"\S \S", piece)]
    assert crossing
    assert all(trained.pieces.index(piece) >= trained.num_subwords for piece in crossing)
    assert not any(b": " in piece for piece in trained.pieces)
    assert max(len(piece.split()) for piece in trained.pieces) <= 3
    subwords = train_subwords(LINES, num_pieces=420, longest=64)
    assert not any(re.search(rb"\S \S", piece) for piece in subwords.pieces)
    assert len(opened(trained).encode(LINES[0]).ids) < len(
        opened(subwords, pattern=WORDS).encode(LINES[0]).ids
    )


def test_digits_stay_apart_by_threes(trained: Merges) -> None:
    assert opened(trained).encode("the 12345").tokens[-2:] != ["12345"]
    assert [part for part in compiled(f"({CHUNKS})").split("of 12345 the") if part] == [
        "of ",
        "123",
        "45",
        " the",
    ]
    assert [piece for piece in trained.pieces if re.search(rb"\d[^\d]|[^\d]\d", piece)] == []


@given(text=ANY_LINE)
def test_the_library_splits_any_text_as_the_merges_say_and_gives_it_back(trained: Merges, text: str) -> None:
    made = opened(trained)
    ids = made.encode(text, add_special_tokens=False).ids
    assert made.decode(ids) == text
    # Where the two know different versions of Unicode, a text may be cut in other places.
    if all(re.match(r"[\x00-\u04ff\u3040-\u9fff]", each) for each in text):
        assert ids == by_hand(text, trained, pattern=CHUNKS)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back_and_is_split_alike(trained: Merges, text: str) -> None:
    made = opened(trained)
    ids = made.encode(text, add_special_tokens=False).ids
    assert made.decode(ids) == text
    assert ids == by_hand(text, trained, pattern=CHUNKS)


def test_subwords_are_split_by_hand_as_by_the_library() -> None:
    merges = train_subwords(LINES, num_pieces=400, longest=64)
    made = opened(merges, pattern=WORDS)
    for text in (*LINES, *HOSTILE):
        assert made.encode(text, add_special_tokens=False).ids == by_hand(text, merges, pattern=WORDS)


def test_real_text_is_split_by_hand_as_by_the_library() -> None:
    lines = [
        line for file in sorted(DEMO.glob("*.d*")) for line in file.read_text("utf-8", "replace").split("\n")
    ]
    random.Random(0).shuffle(lines)
    merges = train_superwords(lines[:300], num_pieces=900, num_subwords=600, longest_words=4, longest=64)
    made = opened(merges)
    for line in lines[:60]:
        assert made.encode(line, add_special_tokens=False).ids == by_hand(line, merges, pattern=CHUNKS)


@given(lines=st.lists(ANY_LINE, max_size=8))
def test_words_and_chunks_are_counted_as_whole_lines_would_be(lines: list[str]) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    counted = Counted.of(lines)
    words = Counter(word for line in lines for word in compiled(WORDS).findall(line))
    assert counted.pretokens() == dict(sorted(words.items()))
    chunks = counted.chunks(lambda texts: [list(text.encode()) for text in texts])
    found: Counter[bytes] = Counter()
    row: list[int] = []
    for piece, count in zip(chunks.pieces.tolist(), chunks.counts.tolist(), strict=True):
        if piece >= 0:
            row.append(piece)
        elif row:
            found[bytes(row)] += count
            row = []
    parts = Counter(part.encode() for line in lines for part in compiled(f"({CHUNKS})").split(line) if part)
    assert found == parts


def test_the_same_lines_give_the_same_bytes_in_any_order() -> None:
    def content(lines: list[str]) -> bytes:
        return tokenizer_json(superwords(lines), symbols=SYMBOLS, normalization="nfc", pattern=CHUNKS)

    assert content(LINES) == content(LINES[::-1])


def test_no_piece_is_spelled_like_a_symbol() -> None:
    lines = ["<ui> <ui> <ui>", "<pad> <pad>"] * 5
    merges = train_superwords(
        lines, num_pieces=400, num_subwords=330, longest_words=4, taken=frozenset(SYMBOLS), longest=64
    )
    assert not {spelled(piece) for piece in merges.pieces} & set(SYMBOLS)
    made = opened(merges)
    ids = made.encode("<ui> <pad>", add_special_tokens=False).ids
    assert min(ids) >= len(SYMBOLS)
    assert made.decode(ids) == "<ui> <pad>"


def test_pieces_of_the_user_stay_whole() -> None:
    content = tokenizer_json(
        superwords(LINES), symbols=SYMBOLS, whole=["⟦0⟧"], normalization="identity", pattern=CHUNKS
    )
    made = tokenizers.Tokenizer.from_str(content.decode())
    ids = made.encode("the ⟦0⟧ cat").ids
    assert ids.count(made.token_to_id("⟦0⟧")) == 1
    assert made.decode(ids) == "the ⟦0⟧ cat"


def test_others_get_an_end_behind_lines_or_a_start_before_texts(trained: Merges) -> None:
    content = tokenizer_json(trained, symbols=SYMBOLS, normalization="identity", pattern=CHUNKS)
    lines = tokenizers.Tokenizer.from_str(framed(content, symbol="</s>", behind=True).decode())
    texts = tokenizers.Tokenizer.from_str(framed(content, symbol="<s>", behind=False).decode())
    plain = lines.encode("the cat", add_special_tokens=False).ids
    assert lines.encode("the cat").ids == [*plain, 3]
    assert texts.encode("the cat").ids == [2, *plain]
    # A tag that is written before a line takes the space behind it.
    assert lines.encode("<ui> the cat").ids == [4, *plain, 3]


def test_bytes_are_written_as_gpt_2_writes_them() -> None:
    assert set(letters()) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert spelled(b" the\n") == "ĠtheĊ"
