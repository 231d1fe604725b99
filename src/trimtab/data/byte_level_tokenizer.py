"""The byte-level tokenizer of a run: trained on its lines, or adopted from a folder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.config.reserved import meaning_of
from trimtab.config.tokenizer import ByteLevel, SuperBpeTokenizer
from trimtab.data.byte_level_bpe import (
    CHUNKS,
    NUM_BYTES,
    WORDS,
    framed,
    letters,
    normalizer,
    tokenizer_json,
    train_subwords,
    train_superwords,
)
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.stored_tokenizer import FAST_FILE, load_stored, store_fast
from trimtab.data.tokenizer import refuse_taken
from trimtab.errors import InputError, input_error
from trimtab.progress import Progress

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""The first ids, as in the sentencepiece models trained here."""
SPECIAL_IDS = SpecialIds(pad=0, unknown=1, start=2, end=3)
LONGEST = 64
"""Bytes of a piece at most; longer ones come from rules and repeated lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """What a vocabulary has beside its pieces and the four special symbols."""

    tags: Sequence[str] = ()
    """No text ever becomes one."""
    pieces: Sequence[str] = ()
    """Any text that holds one becomes it there."""
    begins: bool = False
    """Whether those who use the file with another library get the start symbol before a text, in place of the end
    symbol behind it."""


def make_byte_level(
    config: ByteLevel,
    lines: Callable[[], Iterable[str]],
    *,
    symbols: Symbols,
    out: Path,
    key: str,
    progress: Progress,
) -> FastTokenizer:
    """Adopts the tokenizer of `config.path`, or trains one on the lines, and writes it into the folder `out`.

    Raises InputError where the lines hold fewer pieces than the recipe asks for, and where a given tokenizer lacks a
    symbol.
    """
    tags, pieces = tuple(dict.fromkeys(symbols.tags)), tuple(dict.fromkeys(symbols.pieces))
    begins = symbols.begins
    if config.path is not None:
        given = _given(config, tags, pieces, key=key)
        return _stored(given, out, begins=begins, kind=config.kind, adopted_from=config.path)
    refuse_taken([each for each in tags if meaning_of(each) or each in letters()])
    progress.message(f"training a tokenizer of {config.vocabulary_size} pieces")
    tokenizer = train_byte_level(config, lines(), symbols=tags, pieces=pieces, key=key)
    if tokenizer.num_ids < config.vocabulary_size:
        if "vocabulary_size" in config.model_fields_set:
            raise _too_many(config, tokenizer.num_ids, key)
        progress.message(
            f"{key}.vocabulary_size is {tokenizer.num_ids}, since the text holds no more different pieces; the "
            f"default is {config.vocabulary_size}"
        )
    return _stored(tokenizer, out, begins=begins, kind=config.kind)


def _stored(tokenizer: FastTokenizer, out: Path, *, begins: bool, **origin: Any) -> FastTokenizer:
    content = framed(tokenizer.content, symbol=SPECIAL[2 if begins else 3], behind=not begins)
    made = FastTokenizer(
        content, special=tokenizer.special, num_ids=tokenizer.num_ids, symbols=tokenizer.symbols
    )
    store_fast(made, out, **origin)
    return made


def train_byte_level(
    config: ByteLevel,
    lines: Iterable[str],
    *,
    symbols: Sequence[str] = (),
    pieces: Sequence[str] = (),
    key: str = "data.tokenizer",
) -> FastTokenizer:
    """Trains a tokenizer; the same lines give the same bytes. It may have fewer pieces than `vocabulary_size` where no
    pair of pieces occurs twice any more. Raises InputError where there is no text, or no room for a merge."""
    fixed = len(SPECIAL) + len(symbols) + len(pieces)
    if config.vocabulary_size <= fixed + NUM_BYTES:
        raise input_error(
            f"{key}.vocabulary_size: no room for anything but bytes and symbols",
            got=str(config.vocabulary_size),
            allowed=f"more than {fixed + NUM_BYTES}, which are {NUM_BYTES} bytes and {fixed} symbols",
            fix="raise it",
        )
    form = normalizer(config.normalization)
    read = _Read(lines if form is None else map(form.normalize_str, lines))
    taken = frozenset((*SPECIAL, *symbols, *pieces))
    size = config.vocabulary_size - fixed
    if isinstance(config, SuperBpeTokenizer):
        merges = train_superwords(
            read,
            num_pieces=size,
            num_subwords=transition_of(config) - fixed,
            longest_words=config.longest_superword,
            taken=taken,
            longest=LONGEST,
        )
    else:
        merges = train_subwords(read, num_pieces=size, taken=taken, longest=LONGEST)
    if not read.has_text:
        raise input_error(
            f"{key}: there is no text to train on",
            got="no line with text; every line was empty or dropped",
            allowed="lines with words in them",
            fix="look at `trimtab data inspect`; transforms may have dropped every pair",
        )
    content = tokenizer_json(
        merges,
        symbols=(*SPECIAL, *symbols),
        whole=pieces,
        normalization=config.normalization,
        pattern=CHUNKS if isinstance(config, SuperBpeTokenizer) else WORDS,
    )
    return open_byte_level(content, symbols=symbols)


def open_byte_level(content: bytes, *, symbols: Sequence[str]) -> FastTokenizer:
    """A tokenizer that was trained here, by its file and its tags."""
    made = FastTokenizer(content, special=SPECIAL_IDS, num_ids=0, symbols=symbols)
    return FastTokenizer(content, special=SPECIAL_IDS, num_ids=made.num_pieces, symbols=symbols)


def transition_of(config: SuperBpeTokenizer) -> int:
    """The size of the vocabulary at which merges may begin to go across spaces."""
    return config.transition_size or max(config.vocabulary_size // 2, NUM_BYTES + len(SPECIAL))


class _Read:
    """Lines as they are read, and whether there was any text; InputError for half characters."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self.has_text = lines, False

    def __iter__(self) -> Any:
        for line in self._lines:
            self.has_text = self.has_text or bool(line.strip())
            yield line


def _given(config: ByteLevel, symbols: Sequence[str], pieces: Sequence[str], *, key: str) -> FastTokenizer:
    """The tokenizer of `config.path`."""
    folder = Path(config.path or "").expanduser()
    if not (folder / FAST_FILE).is_file():
        raise input_error(
            f"{key}.path: {folder} has no {FAST_FILE}",
            got=", ".join(sorted(each.name for each in folder.glob("*"))[:5]) or "nothing there",
            allowed="a folder that `trimtab tokenizer train --model superbpe` or `byte_level_bpe` wrote",
            fix="name such a folder, or leave `path` out to train one",
        )
    try:
        tokenizer = load_stored(folder)
    except InputError as error:
        raise InputError(
            *[replace(each, what=f"{key}.path: {each.what}") for each in error.problems]
        ) from None
    assert isinstance(tokenizer, FastTokenizer), "its file is that of one"
    if "vocabulary_size" in config.model_fields_set and config.vocabulary_size != tokenizer.num_ids:
        raise input_error(
            f"{key}.vocabulary_size: {config.path} has another size",
            got=f"{tokenizer.num_ids} pieces in the tokenizer, vocabulary_size {config.vocabulary_size}",
            allowed=f"{tokenizer.num_ids}",
            fix=f"set vocabulary_size to {tokenizer.num_ids}, or leave it out",
        )
    lacking = [each for each in symbols if each not in tokenizer.symbols]
    lacking += [each for each in pieces if tokenizer.token_to_id(each) is None]
    if lacking:
        raise input_error(
            f"{key}.path: {config.path} lacks symbols that the recipe needs",
            got=", ".join(lacking[:4]) + " ..." * (len(lacking) > 4),
            allowed="a tokenizer trained with them",
            fix=f"train it with `trimtab tokenizer train --tag '{lacking[0]}'`, or leave `path` out to train one",
        )
    return tokenizer


def _too_many(config: ByteLevel, most: int, key: str) -> InputError:
    return input_error(
        f"{key}.vocabulary_size: the lines do not hold so many different pieces",
        got=str(config.vocabulary_size),
        allowed=f"at most {most} for these lines",
        fix=f"set {key}.vocabulary_size to {most} or less, or train on more text",
    )
