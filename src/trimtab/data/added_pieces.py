"""Symbols added to a vocabulary that exists, so that a model can be trained on with new tags."""

from collections.abc import Sequence

from trimtab.data.byte_pieces import CONTROL, USER_DEFINED, with_more
from trimtab.data.sentencepiece_model import SentencePiece


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
