"""Positions of the stream as rows of bytes, one image each; what cannot be read is dropped and counted."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from trimtab.data.chunk import Chunk
from trimtab.data.mixture import Mixture
from trimtab.tasks.images.pixels import BadImage
from trimtab.types import DroppedExample, Ragged


class ImagePlace(NamedTuple):
    """Which image is at a position."""

    corpus: int
    line: int
    turn: int
    """How often the stream has used the image before."""


@dataclass(frozen=True, slots=True)
class ImageFeed(ABC):
    """All that turns positions of the stream into examples; may be pickled. See `data.chunk.MakesChunks`."""

    mixture: Mixture

    parts_per_position: ClassVar[int] = 1
    positions_per_chunk: ClassVar[int] = 128
    sample_positions: ClassVar[int] = 512
    shares_length: ClassVar[bool] = False
    within_slack: ClassVar[float] = 1.0
    fingerprints: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def example(self, place: ImagePlace) -> tuple[np.ndarray, Sequence[int]]:
        """The bytes of an image, and its targets; follows from the place and the seed of the mixture. Raises BadImage
        with the reason for which it cannot be trained on."""

    def chunk(self, *, start: int, count: int) -> Chunk:
        """The examples at so many positions, a function of its arguments alone: `source` has the bytes of each image,
        `target` its targets."""
        places = self.mixture.at(np.arange(start, start + count))
        images, targets = list[np.ndarray](), list[Sequence[int]]()
        kept, dropped = list[int](), list[tuple[int, str]]()
        numbers = zip(places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True)
        for number, place in enumerate(numbers):
            try:
                image, own = self.example(ImagePlace(*place))
            except BadImage as bad:
                dropped.append((number, bad.reason))
                continue
            kept.append(number)
            images.append(image)
            targets.append(own)
        chosen = np.array(kept, np.int64)
        return Chunk(
            source=joined(images),
            target=Ragged.of(targets),
            corpus=places.corpus[chosen],
            line=places.line[chosen],
            position=start + chosen,
            dropped=tuple(
                DroppedExample(int(places.corpus[number]), int(places.line[number]), reason)
                for number, reason in dropped
            ),
            dropped_position=start + np.array([number for number, _ in dropped], np.int64),
            prompt=np.zeros(len(kept), np.int32),
        )


def joined(rows: Sequence[np.ndarray]) -> Ragged:
    """Rows of bytes in one array."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.empty(0, np.uint8), offsets)
