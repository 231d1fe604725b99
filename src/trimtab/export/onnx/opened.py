"""An exported folder as its users have it: sentencepiece, ONNX Runtime, and the beam search of trimtab."""

from collections.abc import Sequence
from contextlib import suppress

from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.beam import beam_search
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.errors import RunFailed
from trimtab.export.onnx.engine import OnnxModel
from trimtab.types import Ragged

ROWS_AT_ONCE = 16


class OpenedOnnx:
    """See `export.target.TranslatesLines`."""

    def __init__(self, model: OnnxModel, tokenizers: Tokenizers) -> None:
        self.model, self.tokenizers = model, tokenizers

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """What the tokenizer in the folder gives for each line after the tags."""
        return self.tokenizers.source.encode_with_tags(lines, tags)

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token."""
        return self.model.log_probabilities(source, target)

    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best hypothesis for each row, rows of about the same limit together; nothing where the graphs give what
        is no number, which their log-probabilities then say."""
        found: dict[int, list[int]] = {}
        order = sorted(range(len(source)), key=lambda row: (limits[row], row))
        for start in range(0, len(order), ROWS_AT_ONCE):
            few = order[start : start + ROWS_AT_ONCE]
            with suppress(RunFailed):
                best = beam_search(
                    self.model,
                    stream_of([source.row(row).tolist() for row in few], self.model.device),
                    limits=[limits[row] for row in few],
                    symbols=Symbols.of(self.tokenizers.target),
                    search=Search(beam=beam),
                )
                found.update((row, list(each.ids)) for row, each in zip(few, best, strict=True))
        return [found.get(row, []) for row in range(len(source))]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What the tokenizer in the folder makes of each row."""
        return self.tokenizers.target.decode(rows)
