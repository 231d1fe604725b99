"""Maps one vocabulary to another: shared pieces, and how the old one spells new pieces."""

from dataclasses import dataclass

from sentencepiece import SentencePieceProcessor

from trimtab.data.stored_tokenizer import AnyTokenizer

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
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(old.model + _AS_SPELLED)
    spelled: dict[int, list[int]] = {}
    for id, found in enumerate(same):
        kind, piece = _sort(new, id)
        if found is None and kind == "text":
            ids = [each for each in processor.encode(piece, out_type=int) if each != old.unknown]
            if ids:
                spelled[id] = ids
    return PieceMap(same, spelled, num_dropped=old.num_ids - sum(found is not None for found in same))


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
