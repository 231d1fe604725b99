"""Creates the tokenizer of a run: trains one on the corpora, or loads an existing one."""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sentencepiece

from trimtab.config.reserved import meaning_of
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.byte_pieces import CONTROL, USER_DEFINED, with_more
from trimtab.data.cache import committed
from trimtab.data.corpus import Corpus
from trimtab.data.sentencepiece_model import CARD_FILE, MODEL_FILE, SentencePiece, load_tokenizer
from trimtab.data.transforms.apply import Dropped, Pipeline
from trimtab.errors import InputError, Problem, input_error

__all__ = [
    "SentencePiece",
    "TooManyPieces",
    "adopt_tokenizer",
    "load_tokenizer",
    "refuse_taken",
    "sample_lines",
    "train_tokenizer",
    "write_tokenizer",
]

_PAD, _UNKNOWN, _START, _END = range(4)
# Part of the result: sums of expected counts depend on how many threads share the lines.
_NUM_THREADS = 8
_ERRORS_ONLY = 2
_AS_IT_IS = {
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
}


class TooManyPieces(InputError):
    """The lines hold fewer different pieces than the vocabulary has; `most` is how many it can have."""

    def __init__(self, *problems: Problem, most: int) -> None:
        super().__init__(*problems)
        self.most = most

    def __reduce__(self) -> tuple[type[InputError], tuple[Problem, ...]]:
        return InputError, self.problems


def train_tokenizer(
    config: SentencePieceTokenizer,
    *,
    lines: Iterable[str],
    symbols: Sequence[str],
    pieces: Sequence[str] = (),
    out: Path,
    key: str = "data.tokenizer",
    exact: bool = False,
) -> SentencePiece:
    """Trains a model and writes it into the folder `out`; the same lines give the same bytes.

    No text ever becomes one of the `symbols`; each of `pieces` does, anywhere in a text, and stays whole. An
    `exact` one leaves spaces as they are, at the beginning and in a row too.
    Raises InputError if lines and vocabulary size do not fit each other, with the size that would; `key` is how the
    recipe calls this tokenizer.
    """
    symbols = tuple(dict.fromkeys(symbols))
    refuse_taken([symbol for symbol in symbols if meaning_of(symbol)])
    model = io.BytesIO()
    guarded = _Guarded(lines)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(guarded),
            model_writer=model,
            model_type=config.model,
            vocab_size=config.vocabulary_size,
            character_coverage=config.character_coverage,
            byte_fallback=config.byte_fallback,
            normalization_rule_name=config.normalization,
            control_symbols=list(symbols),
            user_defined_symbols=list(pieces),
            pad_id=_PAD,
            unk_id=_UNKNOWN,
            bos_id=_START,
            eos_id=_END,
            num_threads=_NUM_THREADS,
            minloglevel=_ERRORS_ONLY,
            **(_AS_IT_IS if exact else {}),
        )
    except RuntimeError as error:
        raise guarded.error or _explained(str(error), config, guarded.count, key=key, exact=exact) from None
    if guarded.error is not None:
        raise guarded.error
    tokenizer = SentencePiece(model.getvalue(), symbols=symbols)
    write_tokenizer(
        tokenizer, out, model=config.model, normalization=config.normalization, training_lines=guarded.count
    )
    return tokenizer


def adopt_tokenizer(
    config: SentencePieceTokenizer,
    out: Path,
    *,
    symbols: Sequence[str] = (),
    pieces: Sequence[str] = (),
    key: str = "data.tokenizer",
) -> SentencePiece:
    """Copies the model that `config.path` names into the folder `out`.

    A symbol or a piece that the tokenizer of a run, which is a folder, does not have is added at its end.
    Raises InputError if it is no usable model, has another size than the recipe asks for, or is a file that lacks a
    symbol or a piece.
    """
    assert config.path is not None, "adopt_tokenizer needs a path"
    try:
        tokenizer = load_tokenizer(Path(config.path).expanduser())
    except InputError as error:
        problems = [replace(each, what=f"{key}.path: {each.what}") for each in error.problems]
        raise InputError(*problems) from None
    before = tokenizer.num_ids
    if Path(config.path).expanduser().is_dir():
        tokenizer = with_missing(tokenizer, symbols=symbols, pieces=pieces)
    sizes = (before, tokenizer.num_ids)
    if "vocabulary_size" in config.model_fields_set and config.vocabulary_size not in sizes:
        raise input_error(
            f"{key}.vocabulary_size: {config.path} has another size",
            got=f"{tokenizer.num_ids} pieces in the model, vocabulary_size {config.vocabulary_size}",
            allowed=f"{tokenizer.num_ids}",
            fix=f"set vocabulary_size to {tokenizer.num_ids}, or leave it out",
        )
    special = (tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end)
    ids = {symbol: tokenizer.id(symbol) for symbol in symbols}
    refuse_taken([symbol for symbol, id in ids.items() if id in special or tokenizer.is_byte[id]])
    _check_pieces(tokenizer, pieces, key=key, path=config.path)
    tokenizer = SentencePiece(tokenizer.model, symbols=tuple(dict.fromkeys((*tokenizer.symbols, *symbols))))
    write_tokenizer(tokenizer, out, adopted_from=config.path)
    return tokenizer


def refuse_taken(symbols: Sequence[str]) -> None:
    """InputError for symbols that a vocabulary has for something else, if there are any."""
    if symbols:
        raise input_error(
            f"tags: {', '.join(symbols)} already has a meaning in the vocabulary",
            got=", ".join(symbols),
            allowed="a word of its own, such as <ui>",
            fix="take another word",
        )


def _check_pieces(tokenizer: SentencePiece, pieces: Sequence[str], *, key: str, path: str) -> None:
    rows = [row[:-1] for row in tokenizer.encode(pieces)]
    split = [
        piece
        for piece, row in zip(pieces, rows, strict=True)
        if not row or tokenizer.piece(row[-1]) != piece or len(row) > 2
    ]
    if split:
        raise input_error(
            f"{key}.path: {path} splits symbols that the transform `protect` inserts",
            got=f"{', '.join(split[:4])}{' ...' if len(split) > 4 else ''}",
            allowed="one piece for each, that is, a user-defined symbol",
            fix="train it with --user_defined_symbols, let the run train one, or lower the transform's `symbols`",
        )


def sample_lines(
    corpora: Sequence[Corpus],
    limit: int,
    *,
    pipeline: Pipeline | None = None,
    side: Literal["source", "target"] | None = None,
    source_text: Callable[[str], str] = str,
) -> Iterator[str]:
    """At most `limit` lines, half of them sources or all of one side, spread evenly over all corpora laid end to end.

    Each corpus so gives in proportion to its size, once where it is read both ways or is in one language. With a
    pipeline, its transforms are applied, and what it drops is left out; a random one draws from a fixed seed. Sources
    are given as `source_text` leaves them.
    """
    pipeline = pipeline or Pipeline()
    numbers = list(range(len(corpora)))
    if side is None:
        # The other direction has the same lines, and both of them are taken.
        numbers = [number for number in numbers if not corpora[number].is_reversed]
        corpora = [corpora[number] for number in numbers]
    starts = np.cumsum([0, *(len(corpus) for corpus in corpora)])
    total = int(starts[-1])
    num_pairs = min(total, max(1, limit if side else limit // 2))
    rng = np.random.default_rng(0) if pipeline.needs_random else None
    for number in range(num_pairs):
        place = number * total // num_pairs
        corpus = int(np.searchsorted(starts, place, side="right")) - 1
        line = place - int(starts[corpus])
        pair = pipeline.of(numbers[corpus]).apply(*corpora[corpus].pair(line), rng, line)
        if isinstance(pair, Dropped):
            continue
        if side != "target":
            yield source_text(pair[0])
        if side == "target" or (side is None and not corpora[corpus].is_monolingual):
            yield pair[1]


class _Guarded:
    """Counts lines and keeps the error that ends them, which sentencepiece would turn into a text."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.count = 0
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._lines:
                yield line
                self.count += 1
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error


def _explained(
    message: str, config: SentencePieceTokenizer, num_lines: int, *, key: str, exact: bool
) -> InputError:
    size = config.vocabulary_size
    if found := re.search(r"too high.*<= (\d+)", message):
        error = input_error(
            f"{key}.vocabulary_size: {num_lines:,} line{'s do' if num_lines != 1 else ' does'} not hold so many "
            "different pieces",
            got=str(size),
            allowed=f"at most {found[1]} for these lines",
            fix=f"set {key}.vocabulary_size to {found[1]} or less, or train on more text",
        )
        return TooManyPieces(*error.problems, most=int(found[1]))
    if found := re.search(r"required_chars\D+\d+ vs (\d+)", message):
        return input_error(
            f"{key}.vocabulary_size: too small for the characters of the text"
            + (" and 256 bytes" if config.byte_fallback else ""),
            got=str(size),
            allowed=f"at least {found[1]}, and more to include any words",
            fix=f"set a larger {key}.vocabulary_size, or a smaller character_coverage",
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        if exact:  # of documents, perhaps of pairs too
            return input_error(
                f"{key}: there is no text to train on",
                got="no document or pair with a word in it",
                allowed="documents with words in them, or pairs of which the transforms keep some",
                fix="check the files under data.train, and what data.transforms drops",
            )
        return input_error(
            f"{key}: there is no text to train on",
            got=f"{num_lines:,} line{'s' * (num_lines != 1)} without text"
            if num_lines
            else "no line; every pair was dropped",
            allowed="lines with words in them",
            fix="look at `trimtab data inspect`; transforms may have dropped every pair",
        )
    return input_error(f"{key}: sentencepiece could not train a model", got=message.strip())


def write_tokenizer(tokenizer: SentencePiece, out: Path, **origin: Any) -> None:
    """Model and card, which says where it comes from; the card first, so that a folder with a model is complete."""
    out.mkdir(parents=True, exist_ok=True)
    card = {
        "kind": "sentencepiece",
        "num_ids": tokenizer.num_ids,
        "pad": tokenizer.pad,
        "unknown": tokenizer.unknown,
        "start": tokenizer.start,
        "end": tokenizer.end,
        "symbols": list(tokenizer.symbols),
        "fingerprint": tokenizer.fingerprint,
        "library": f"sentencepiece {sentencepiece.__version__}",
        **origin,
    }
    with committed(out / CARD_FILE) as file:
        file.write((json.dumps(card, indent=2, ensure_ascii=False) + "\n").encode())
    with committed(out / MODEL_FILE) as file:
        file.write(tokenizer.model)


def with_missing(tokenizer: SentencePiece, *, symbols: Sequence[str], pieces: Sequence[str]) -> SentencePiece:
    """The tokenizer with those `symbols`, which no text becomes, and `pieces`, which stay whole in every text, that it
    lacks; all ids that it has stay as they are. The tokenizer itself where it lacks nothing."""
    wanted = {**dict.fromkeys(pieces, USER_DEFINED), **dict.fromkeys(symbols, CONTROL)}
    held = {tokenizer.piece(id) for id in range(tokenizer.num_ids)}
    missing = [(piece, kind) for piece, kind in wanted.items() if piece not in held]
    if not missing:
        return tokenizer
    named = (*tokenizer.symbols, *(piece for piece, kind in missing if kind == CONTROL))
    return SentencePiece(with_more(tokenizer.model, missing), symbols=named)
