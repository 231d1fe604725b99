"""An exported folder as its users have it: sentencepiece's tokenizer and CTranslate2's translator."""

from collections.abc import Sequence

from sentencepiece import SentencePieceProcessor

from trimtab.export.ctranslate2.engine import CTranslate2Model
from trimtab.flow import Ragged


class OpenedCTranslate2:
    """See `export.target.TranslatesLines`."""

    def __init__(
        self, model: CTranslate2Model, *, source: SentencePieceProcessor, target: SentencePieceProcessor
    ) -> None:
        self.model, self.source, self.target = model, source, target
        self.source_ids = {piece: id for id, piece in enumerate(model.source)}

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """The ids that the library's vocabulary has for the pieces of each line, tags before them and end behind.

        What sentencepiece has no piece for it gives as it stands, and the library reads that as unknown."""
        end = self.model.target[self.model.end]
        unknown = self.source.unk_id()
        pieces = self.source.encode(list(lines), out_type=str)
        return [[self.source_ids.get(each, unknown) for each in (*tags, *line, end)] for line in pieces]

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token, by `score_batch`."""
        return self.model.log_probabilities(source, target)

    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best that `translate_batch` finds, told the trainer's limits."""
        found = self.model.search(source, limits=limits, beam=beam, n=1, length_penalty=1.0, exact=True)
        return [few[0][0] for few in found]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What sentencepiece makes of the pieces of each row."""
        return [self.target.decode([self.model.target[id] for id in row]) for row in rows]
