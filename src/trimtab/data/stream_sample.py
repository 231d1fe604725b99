"""The first examples of the stream, from which lengths and shares are estimated before anything is trained."""

from dataclasses import dataclass, replace

import numpy as np

from trimtab.data.chunk import MakesChunks
from trimtab.data.id_filter import fix_for_dropped
from trimtab.data.stages import Stages
from trimtab.errors import input_error
from trimtab.types import DroppedExample, Ragged


@dataclass(frozen=True, slots=True)
class Sample:
    """The first examples of the stream, or of each stage, as they will be trained on."""

    source: Ragged
    target: Ragged
    dropped: tuple[DroppedExample, ...]
    prompt: np.ndarray | None = None
    """For each example, how many leading target tokens do not count in the loss; None for none."""
    positions: int = 0
    """Positions of the stream that were looked at, where they are passages and not examples; 0 says as many as
    examples were seen."""
    links: Ragged | None = None
    """The aligned tokens of each example, target and source in turn; None where no alignments are learned."""

    @property
    def targets(self) -> int:
        """Target tokens that count in the loss."""
        return int(self.target.offsets[-1]) - (0 if self.prompt is None else int(self.prompt.sum()))

    @property
    def seen(self) -> int:
        """Examples looked at."""
        return len(self.target) + len(self.dropped)


def first_examples(feed: MakesChunks, stages: Stages) -> Sample:
    """A sample of the stream, every stage with the same part of it; InputError if nothing of it is kept."""
    count = min(feed.sample_positions, feed.mixture.examples_per_epoch)
    each = max(1, count // len(stages.mixtures))
    parts = [replace(feed, mixture=mixture).chunk(start=0, count=each) for mixture in stages.mixtures]
    links = [part.links for part in parts if part.links is not None]
    sample = Sample(
        Ragged.joined([part.source for part in parts]),
        Ragged.joined([part.target for part in parts]),
        tuple(example for part in parts for example in part.dropped),
        np.concatenate([part.prompt for part in parts]),
        each * len(parts),
        Ragged.joined(links) if links else None,
    )
    if len(sample.target) == 0:
        reasons = sorted({example.reason for example in sample.dropped})
        raise input_error(
            "data.train: nothing is left to train on",
            got=f"the first {len(sample.dropped)} examples were all dropped: {', '.join(reasons)}",
            allowed="at least one that remains",
            fix=fix_for_dropped(reasons, shares_length=feed.shares_length),
        )
    return sample
