"""The tokenizer of a language model: the one in the run's folder, or the one given by the recipe, or a new one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trimtab.config.data import DataConfig
from trimtab.config.reserved import SEPARATOR
from trimtab.config.tokenizer import ByteLevel, ByteTokenizer, PretrainedTokenizer
from trimtab.data.byte_level_tokenizer import Symbols, make_byte_level
from trimtab.data.byte_pieces import byte_model
from trimtab.data.corpus import Corpus
from trimtab.data.exact_text import NEWLINE, check_exact
from trimtab.data.fitting_vocabulary import train_fitting
from trimtab.data.formats.passage import cuts
from trimtab.data.order import permuted
from trimtab.data.sentencepiece_model import CARD_FILE, SentencePiece
from trimtab.data.stored_tokenizer import AnyTokenizer, adopt_pretrained, load_stored
from trimtab.data.tokenizer import adopt_tokenizer, write_tokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Dropped, Pipeline
from trimtab.errors import input_error
from trimtab.progress import Progress

LONGEST_LINE = 4000
"""Bytes; sentencepiece passes over lines of more than 4192 when it is trained."""
_KEY = 97
"""Of the order in which passages are taken."""
_AT_ONCE = 4096


def prepare_text_tokenizers(
    config: DataConfig, corpora: Sequence[Corpus], pipeline: Pipeline, *, folder: Path, progress: Progress
) -> Tokenizers:
    """One tokenizer for whole texts and for both sides of pairs, with a separator and tags where there are pairs.

    Raises InputError if a given one changes texts or lacks a symbol, and where the folder has one of another kind.
    """
    if (folder / CARD_FILE).exists():
        held = load_stored(folder)
        return Tokenizers(held, held)
    if (folder / "target").exists():
        raise input_error(
            f"{folder}: contains two tokenizers, one per side",
            got="two tokenizers",
            allowed="one, for a language model",
            fix="begin a new run with another --out",
        )
    made = _made(config, corpora, pipeline, folder=folder, progress=progress)
    return Tokenizers(made, made)


def _made(
    config: DataConfig, corpora: Sequence[Corpus], pipeline: Pipeline, *, folder: Path, progress: Progress
) -> AnyTokenizer:
    symbols = symbols_of(config, has_pairs=any(not corpus.has_documents for corpus in corpora))
    if isinstance(config.tokenizer, ByteTokenizer):
        tokenizer = SentencePiece(byte_model(symbols), symbols=symbols)
        write_tokenizer(tokenizer, folder, model="bytes")
        return tokenizer
    key = "data.tokenizer"
    if isinstance(config.tokenizer, PretrainedTokenizer):
        return adopt_pretrained(config.tokenizer, folder, key=key)
    limit = config.tokenizer.training_lines
    if isinstance(config.tokenizer, ByteLevel):
        return make_byte_level(
            config.tokenizer,
            lambda: sample_text(corpora, limit, pipeline=pipeline),
            symbols=Symbols(tags=symbols, begins=True),
            out=folder,
            key=key,
            progress=progress,
        )
    if config.tokenizer.path is not None:
        tokenizer = adopt_tokenizer(config.tokenizer, folder, symbols=symbols, key=key)
        check_exact(tokenizer, key=key)
        return tokenizer
    progress.message(f"training a tokenizer of {config.tokenizer.vocabulary_size} pieces")
    return train_fitting(
        config.tokenizer,
        lines=lambda: sample_text(corpora, limit, pipeline=pipeline),
        progress=progress,
        symbols=symbols,
        pieces=(NEWLINE,),
        out=folder,
        key=key,
        exact=True,
    )


def symbols_of(config: DataConfig, *, has_pairs: bool) -> tuple[str, ...]:
    """The separator and the tags of parallel corpora; nothing if there are none."""
    if not has_pairs:
        return ()
    tags = [tag for corpus in (*config.train, *config.valid.values()) for tag in corpus.tags]
    tags += [tag for corpus in config.train for tag in corpus.reverse_tags]
    return tuple(dict.fromkeys([SEPARATOR, *tags]))


def sample_text(corpora: Sequence[Corpus], limit: int, *, pipeline: Pipeline) -> Iterator[str]:
    """At most `limit` lines that are not blank, of passages and of both sides of pairs; they are taken in an order that
    mixes all corpora, the same each time. What a filter drops is left out."""
    pipelines = [pipeline.of(number) for number, corpus in enumerate(corpora) if not corpus.is_reversed]
    corpora = [corpus for corpus in corpora if not corpus.is_reversed]
    starts = np.cumsum([0, *(len(corpus) for corpus in corpora)])
    total, given = int(starts[-1]), 0
    for first in range(0, total, _AT_ONCE):
        places = permuted(np.arange(first, min(first + _AT_ONCE, total)), n=total, key=(_KEY,))
        numbers = np.searchsorted(starts, places, side="right") - 1
        for corpus, line in zip(numbers.tolist(), (places - starts[numbers]).tolist(), strict=True):
            for text in _lines(corpora[corpus], line, pipelines[corpus]):
                if given == limit:
                    return
                yield text
                given += 1


def _lines(corpus: Corpus, number: int, pipeline: Pipeline) -> Iterator[str]:
    if corpus.has_documents:
        texts: Sequence[str] = corpus.passage(number).text.split(NEWLINE)
    else:
        pair = pipeline.apply(*corpus.pair(number), line=number)
        texts = () if isinstance(pair, Dropped) else pair
    for text in texts:
        if text.strip():
            data = text.encode()
            yield from (data[start:stop].decode() for start, stop in cuts(data, most=LONGEST_LINE))
