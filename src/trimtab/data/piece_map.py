"""Maps one vocabulary to another: shared pieces, and how the old one spells new pieces."""

from collections.abc import Callable
from dataclasses import dataclass

from sentencepiece import SentencePieceProcessor

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.stored_tokenizer import AnyTokenizer

SPACE = "▁"
BROKEN = "\ufffd"
"""What bytes become that are no whole character."""
# Appended to a model, a protobuf message's field is merged with what stands there: `normalizer_spec` (field 3) without
# character map (2), dummy prefix (3) and removal of spaces (4), so that a piece is read as it is spelled.
_AS_SPELLED = bytes([0x1A, 6, 0x12, 0, 0x18, 0, 0x20, 0])


@dataclass(frozen=True, slots=True)
class PieceMap:
    """Where each id of a new vocabulary comes from."""

    same: tuple[int | None, ...]
    """For each new id, the old id of the same piece; None if there is none."""
    spelled: dict[int, list[int]]
    """For new ids without the same piece, the old ids that the old tokenizer cuts it into."""
    num_dropped: int
    """Old pieces that the new vocabulary does not have."""

    def __str__(self) -> str:
        copied = sum(old is not None for old in self.same)
        fresh = len(self.same) - copied - len(self.spelled)
        return (
            f"{copied} of {len(self.same)} pieces copied, {len(self.spelled)} new ones from the old pieces that spell "
            f"them, {fresh} new ones with first weights, {self.num_dropped} old ones dropped"
        )


def map_pieces(old: AnyTokenizer, new: AnyTokenizer) -> PieceMap:
    """How the ids of `new` follow from those of `old`, piece by piece.

    Special symbols belong together by what they mean, tags and single bytes with their like only. A new tag has no
    spelling, and neither has what the old vocabulary knows nothing of.
    """
    before = {_sort(old, id): id for id in range(old.num_ids)}
    same = tuple(before.get(_sort(new, id)) for id in range(new.num_ids))
    spell = _spelling(old)
    spelled: dict[int, list[int]] = {}
    for id, found in enumerate(same):
        if found is None and _sort(new, id)[0] == "text":
            text = _text_of(new, id)
            ids = [each for each in spell(text) if each != old.unknown and BROKEN not in text]
            if ids:
                spelled[id] = ids
    return PieceMap(same, spelled, num_dropped=old.num_ids - sum(found is not None for found in same))


def _text_of(tokenizer: AnyTokenizer, id: int) -> str:
    """What a piece stands for in a text; U+FFFD for bytes that are no character."""
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer.decode_exactly([[id]])[0]
    return tokenizer.piece(id).replace(SPACE, " ")


def _spelling(tokenizer: AnyTokenizer) -> Callable[[str], list[int]]:
    """What gives the ids of a piece of text, nothing before it."""
    if isinstance(tokenizer, FastTokenizer):
        return lambda text: tokenizer.ids([text])[0]
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(tokenizer.model + _AS_SPELLED)
    return lambda text: processor.encode(text.replace(" ", SPACE), out_type=int)


def _sort(tokenizer: AnyTokenizer, id: int) -> tuple[str, str]:
    """What kind of piece it is, and which one of them."""
    roles = {
        tokenizer.pad: "pad",
        tokenizer.unknown: "unknown",
        tokenizer.start: "start",
        tokenizer.end: "end",
    }
    if id in roles:
        return "special", roles[id]
    piece = tokenizer.piece(id)
    if tokenizer.is_byte[id]:
        return "byte", piece
    return ("tag" if piece in tokenizer.symbols else "text"), piece
