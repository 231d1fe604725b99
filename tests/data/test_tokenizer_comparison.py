"""Tokenizers side by side."""

from pathlib import Path

import pytest

from trimtab.config.tokenizer import SentencePieceTokenizer, SuperBpeTokenizer
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizer import train_tokenizer
from trimtab.data.tokenizer_comparison import compare_tokenizers, open_tokenizer, render, unreachable
from trimtab.errors import InputError
from trimtab.progress import Silent

LINES = ["the cat sat on the mat", "of the dog and of the cat", "the mat of the dog"] * 6


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, AnyTokenizer]:
    folder = tmp_path_factory.mktemp("tokenizers")
    config = SuperBpeTokenizer(transition_size=300)
    make_byte_level(
        config,
        lambda: LINES,
        symbols=Symbols(),
        out=folder / "superbpe",
        key="data.tokenizer",
        progress=Silent(),
    )
    unigram = SentencePieceTokenizer(vocabulary_size=275)
    train_tokenizer(unigram, lines=LINES, symbols=(), out=folder / "unigram")
    return {name: open_tokenizer(folder / name) for name in ("unigram", "superbpe")}


def test_tokens_words_and_bytes_are_counted(opened: dict[str, AnyTokenizer]) -> None:
    unigram, superbpe = compare_tokenizers(opened, {"en": LINES, "de": ["é"]})
    english, other = superbpe.texts
    assert english.tokens == sum(len(row) - 1 for row in opened["superbpe"].encode(LINES))
    assert english.tokens_per_word == english.tokens / sum(len(line.split()) for line in LINES)
    assert english.bytes_per_token == sum(map(len, LINES)) / english.tokens
    assert english.tokens < unigram.texts[0].tokens
    assert other.tokens == 2
    assert other.unknown_rate == 0
    page = render([unigram, superbpe])
    assert "en: 18 lines" in page
    assert "unreachable" in page


def test_pieces_that_their_own_text_does_not_become_are_named(opened: dict[str, AnyTokenizer]) -> None:
    for tokenizer in opened.values():
        named = set(unreachable(tokenizer))
        for id in range(tokenizer.num_ids):
            if tokenizer.piece(id) in named:
                assert tokenizer.encode([tokenizer.decode([[id]])[0]])[0][:-1] != [id]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_tokenizer(tmp_path)
    (tmp_path / "target").mkdir()
    with pytest.raises(InputError, match="each side"):
        open_tokenizer(tmp_path)
