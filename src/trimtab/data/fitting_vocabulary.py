"""Limits a default vocabulary size to what the text allows."""

from collections.abc import Callable, Iterable
from typing import Any

from trimtab.config.data import DataConfig
from trimtab.config.tokenizer import ByteLevel, SentencePieceTokenizer, Tokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizer import TooManyPieces, train_tokenizer
from trimtab.progress import Progress


def train_fitting(
    config: SentencePieceTokenizer, *, lines: Callable[[], Iterable[str]], progress: Progress, **rest: Any
) -> SentencePiece:
    """What `train_tokenizer` makes of the lines; where they do not hold the default number of pieces, and the recipe
    says none, one of as many as they do hold, which follows from the lines alone.

    Raises InputError like `train_tokenizer`, also where the size is written and the lines do not hold it.
    """
    try:
        return train_tokenizer(config, lines=lines(), **rest)
    except TooManyPieces as error:
        if "vocabulary_size" in config.model_fields_set:
            raise
        most = error.most
    progress.message(
        f"{rest.get('key', 'data.tokenizer')}.vocabulary_size is {most}, since the text holds no more different "
        f"pieces; the default is {config.vocabulary_size}"
    )
    return train_tokenizer(config.model_copy(update={"vocabulary_size": most}), lines=lines(), **rest)


def with_sizes(config: DataConfig, *, source: AnyTokenizer, target: AnyTokenizer) -> DataConfig:
    """The settings with the size of each vocabulary that is smaller than the default, since the text holds no more; the
    same when a run begins and when it continues with what was trained then."""
    update: dict[str, Any] = {"tokenizer": _with_size(config.tokenizer, target)}
    if config.source_tokenizer is not None:
        update["source_tokenizer"] = _with_size(config.source_tokenizer, source)
    return config.model_copy(update=update)


def _with_size(config: Tokenizer, tokenizer: AnyTokenizer) -> Tokenizer:
    if not isinstance(config, SentencePieceTokenizer | ByteLevel) or config.path is not None:
        return config
    if "vocabulary_size" in config.model_fields_set or tokenizer.num_ids >= config.vocabulary_size:
        return config
    return config.model_copy(update=resized(config, tokenizer.num_ids))


def resized(config: Tokenizer, num_ids: int) -> dict[str, Any]:
    """What changes in the settings of a tokenizer that has so many ids in the end."""
    changed: dict[str, Any] = {"vocabulary_size": num_ids}
    if (getattr(config, "transition_size", None) or 0) >= num_ids:
        changed["transition_size"] = None  # the text ran out of merges before superwords began
    return changed
