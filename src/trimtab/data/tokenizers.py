"""The tokenizers of a run: one that both sides share, or one for each side with a vocabulary of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from trimtab.config.context import ContextTransform
from trimtab.config.data import DataConfig
from trimtab.config.reserved import PROTECTED
from trimtab.config.source_factors import CaseFactor, FileFactor, SourceFactor
from trimtab.config.tokenizer import ByteLevel, PretrainedTokenizer, SentencePieceTokenizer
from trimtab.config.transforms import ProtectTransform, Transform
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level
from trimtab.data.corpus import Corpus
from trimtab.data.factored_pieces import (
    Factor,
    FactoredPieces,
    factored,
    load_factors,
    plan_factors,
    store_factors,
)
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.fitting_vocabulary import train_fitting
from trimtab.data.noises import mask_symbols
from trimtab.data.sentencepiece_model import CARD_FILE, SentencePiece
from trimtab.data.side_tokenizers import Side
from trimtab.data.source_factors import text_of_words
from trimtab.data.stored_sides import FILES, adopt_sides
from trimtab.data.stored_tokenizer import AnyTokenizer, load_stored
from trimtab.data.tokenizer import adopt_tokenizer, sample_lines
from trimtab.data.transforms.apply import Pipeline
from trimtab.errors import input_error, reading
from trimtab.progress import Progress

SOURCE, TARGET = "source", "target"
"""Folders of the two tokenizers, where there are two."""


@dataclass(frozen=True, slots=True)
class Tokenizers:
    """What turns each side into ids; the very same object twice where the sides share a vocabulary, unless the source
    has factors."""

    source: AnyTokenizer
    target: AnyTokenizer

    @property
    def shared(self) -> bool:
        """Whether there is one vocabulary for both sides."""
        if self.source is self.target:
            return True
        return isinstance(self.source, FactoredPieces) and self.source.model == self.target_model

    @property
    def target_model(self) -> bytes:
        """What the target's pieces are read from; nothing of other kinds than sentencepiece."""
        return self.target.model if isinstance(self.target, SentencePiece) else b""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The source factors in the ids of the source."""
        return self.source.factors if isinstance(self.source, FactoredPieces) else ()

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes or is translated with, by name."""
        marks = {"tokenizer": self.target.fingerprint}
        one = self.source is self.target
        return marks if one else {**marks, "source_tokenizer": self.source.fingerprint}

    @property
    def symbols(self) -> dict[str, int]:
        """The ids that packs are made with: a decoder starts from the target's start symbol, and each side is filled
        up with its own padding."""
        return {
            "start_symbol": self.target.start,
            "pad_symbol": self.target.pad,
            "source_pad_symbol": self.source.pad,
        }


def load_tokenizers(folder: Path) -> Tokenizers:
    """The tokenizers of a run folder's `tokenizer/`; InputError if one is missing or damaged."""
    with reading(folder):
        factors = load_factors(folder)
        if (folder / SOURCE).is_dir() and not (folder / CARD_FILE).exists():
            both = Tokenizers(load_stored(folder / SOURCE), load_stored(folder / TARGET))
        else:
            shared = load_stored(folder)
            both = Tokenizers(shared, shared)
    return _with_factors(both, factors)


def _with_factors(tokenizers: Tokenizers, factors: Sequence[Factor]) -> Tokenizers:
    """The tokenizers with factors in the ids of the source, where there are any."""
    if not factors:
        return tokenizers
    assert isinstance(tokenizers.source, SentencePiece), "of other tokenizers recipes ask for no factors"
    return Tokenizers(factored(tokenizers.source, factors), tokenizers.target)


def check_kept(folder: Path) -> None:
    """InputError where a tokenizer of a run's `tokenizer/`, or the card beside it, is missing or damaged: opening the
    data would make another one there."""
    load_tokenizers(folder)
    sides = [folder / SOURCE, folder / TARGET] if (folder / SOURCE).is_dir() else [folder]
    for side in sides:
        if not (side / CARD_FILE).exists():
            raise input_error(
                f"{side / CARD_FILE}: is missing",
                got="a tokenizer without its card",
                allowed="the folder as the run wrote it",
                fix="put back the file of this run",
            )


def prepare_tokenizers(
    config: DataConfig, corpora: Sequence[Corpus], pipeline: Pipeline, *, folder: Path, progress: Progress
) -> Tokenizers:
    """The run's tokenizers: those in its folder, or those given by the recipe, or new ones.

    Where each side has its own, it is trained on the lines of that side alone, and tags are pieces of the source's.
    Raises InputError if the folder holds what the recipe does not ask for.
    """
    separate = config.source_tokenizer is not None or isinstance(config.tokenizer, PretrainedTokenizer)
    with reading(folder):
        held = [
            (folder / CARD_FILE).exists(),
            all((folder / side / CARD_FILE).exists() for side in (SOURCE, TARGET)),
        ]
    if any(held):
        if held[not separate]:
            raise _other_sides(folder, separate=separate)
        return _checked(load_tokenizers(folder), config, folder)
    if isinstance(config.tokenizer, PretrainedTokenizer):
        sides: dict[Side, Path] = {"source": folder / SOURCE, "target": folder / TARGET}
        return Tokenizers(*adopt_sides(config.tokenizer, sides, folder / FILES, task="translation"))
    tags = [tag for corpus in (*config.train, *config.valid.values()) for tag in corpus.tags]
    tags += [tag for corpus in config.train for tag in corpus.reverse_tags]
    tags += mask_symbols(config.transforms)
    separators = _separators(config.transforms)
    tags += separators
    maker = _Maker(
        corpora,
        pipeline,
        tuple(dict.fromkeys(tags)),
        progress,
        _protected(config.transforms, tags),
        separators,
        _source_text(config.source_factors),
    )
    factors = _plan_factors(config, corpora, pipeline)
    if factors:  # before the card of a tokenizer, so that a folder with one is complete
        store_factors(factors, folder)
    assert isinstance(config.tokenizer, SentencePieceTokenizer | ByteLevel), (
        "other kinds are refused with the recipe"
    )
    if config.source_tokenizer is None:
        shared = maker.make(config.tokenizer, side=None, out=folder)
        return _with_factors(Tokenizers(shared, shared), factors)
    source = maker.make(config.source_tokenizer, side=SOURCE, out=folder / SOURCE)
    target = maker.make(config.tokenizer, side=TARGET, out=folder / TARGET)
    return _with_factors(Tokenizers(source, target), factors)


def _plan_factors(config: DataConfig, corpora: Sequence[Corpus], pipeline: Pipeline) -> tuple[Factor, ...]:
    """The source factors of the recipe, with their values in as many lines as a tokenizer is trained on."""
    limit = config.tokenizer.training_lines if isinstance(config.tokenizer, SentencePieceTokenizer) else 1
    sampled = sample_lines(corpora, limit, pipeline=pipeline, side=SOURCE)
    return plan_factors(config.source_factors, sampled)


def _source_text(factors: Sequence[SourceFactor]) -> Callable[[str], str]:
    """What of a source line is split into pieces."""
    count = sum(isinstance(each, FileFactor) for each in factors)
    lowercase = any(isinstance(each, CaseFactor) and each.lowercase for each in factors)
    return partial(text_of_words, count=count, lowercase=lowercase) if factors else str


def _checked(tokenizers: Tokenizers, config: DataConfig, folder: Path) -> Tokenizers:
    """InputError where the factors that are stored are not those of the recipe."""
    wanted = [each.name for each in config.source_factors]
    found = [each.name for each in tokenizers.factors]
    if wanted != found:
        raise input_error(
            f"{folder}: data.source_factors has changed since the run began",
            got=", ".join(wanted) or "none in the recipe",
            allowed=", ".join(found) or "none, as the run has",
            fix="restore it, or start a new run with another --out",
        )
    return tokenizers


@dataclass(frozen=True, slots=True)
class _Maker:
    corpora: Sequence[Corpus]
    pipeline: Pipeline
    tags: tuple[str, ...]
    progress: Progress
    pieces: tuple[str, ...] = ()
    """Symbols that are in the text itself, on both sides."""
    separators: tuple[str, ...] = ()
    """Those of the tags that the target has too, where the sides have vocabularies of their own."""
    source_text: Callable[[str], str] = str
    """What of a source line is split into pieces."""

    def make(
        self,
        config: SentencePieceTokenizer | ByteLevel,
        *,
        side: Literal["source", "target"] | None,
        out: Path,
    ) -> SentencePiece | FastTokenizer:
        """Adopts or trains one, for both sides or for one."""
        symbols = self.separators if side == TARGET else self.tags
        key = "data.source_tokenizer" if side == SOURCE else "data.tokenizer"
        if isinstance(config, ByteLevel):
            return make_byte_level(
                config,
                lambda: sample_lines(self.corpora, config.training_lines, pipeline=self.pipeline, side=side),
                symbols=Symbols(tags=symbols, pieces=self.pieces),
                out=out,
                key=key,
                progress=self.progress,
            )
        if config.path is not None:
            return adopt_tokenizer(config, out, symbols=symbols, pieces=self.pieces, key=key)
        whose = f" of the {side}" if side else ""
        self.progress.message(f"training a tokenizer{whose} of {config.vocabulary_size} pieces")
        return train_fitting(
            config,
            lines=lambda: sample_lines(
                self.corpora,
                config.training_lines,
                pipeline=self.pipeline,
                side=side,
                source_text=self.source_text,
            ),
            progress=self.progress,
            symbols=symbols,
            pieces=self.pieces,
            out=out,
            key=key,
        )


def _separators(transforms: Sequence[Transform]) -> tuple[str, ...]:
    """What stands between the sentences of a context."""
    return tuple(each.separator for each in transforms if isinstance(each, ContextTransform))


def _protected(transforms: Sequence[Transform], tags: Sequence[str]) -> tuple[str, ...]:
    """The symbols of the transform `protect`; InputError if one of them is a tag too."""
    counts = [each.symbols for each in transforms if isinstance(each, ProtectTransform)]
    pieces = tuple(PROTECTED.format(number) for count in counts for number in range(count))
    if taken := sorted(set(pieces) & set(tags)):
        raise input_error(
            f"tags: {', '.join(taken)} is a symbol of the transform `protect`",
            got=", ".join(taken),
            allowed=f"a word that is none of {pieces[0]} to {pieces[-1]}",
            fix="take another word",
        )
    return pieces


def _other_sides(folder: Path, *, separate: bool) -> Exception:
    one, two = "one tokenizer for both sides", "a tokenizer for each side"
    return input_error(
        f"{folder}: data.source_tokenizer has changed since the run began",
        got=f"{two if separate else one} in the recipe",
        allowed=f"{one if separate else two}, as the run has",
        fix="restore it, or start a new run with another --out",
    )
