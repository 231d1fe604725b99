"""Which corpora of a recipe are read with noise on their sources, and the symbols that it needs."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.config.data import DataConfig
from trimtab.config.reserved import MASK
from trimtab.config.transforms import DenoiseTransform, Transform
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.transforms.denoise import Noise


@runtime_checkable
class ReadOneWay(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def is_reversed(self) -> bool:
        """Whether it is the corpus before it, read the other way."""
        ...


Noises = tuple[tuple[Noise, ...], ...]
"""For each corpus, what corrupts its sources, one after another."""


def plan_noises(config: DataConfig, corpora: Sequence[ReadOneWay], tokenizer: AnyTokenizer) -> Noises:
    """The noise of each opened corpus; both directions of one have the same. `tokenizer` is that of the sources."""
    transforms = [each for each in config.transforms if isinstance(each, DenoiseTransform)]
    noises = [_noise(each, tokenizer) for each in transforms]
    planned: list[tuple[Noise, ...]] = []
    files = iter(config.train)
    for corpus in corpora:
        if corpus.is_reversed:
            planned.append(planned[-1])
        else:
            file = next(files)
            pairs = zip(transforms, noises, strict=True)
            planned.append(tuple(noise for transform, noise in pairs if transform.is_for(file)))
    return tuple(planned)


def mask_symbols(transforms: Sequence[Transform]) -> tuple[str, ...]:
    """The mask, where a transform puts it in."""
    return (MASK,) if any(isinstance(each, DenoiseTransform) and each.masks for each in transforms) else ()


def _noise(config: DenoiseTransform, tokenizer: AnyTokenizer) -> Noise:
    pieces = config.unit == "pieces"
    return Noise(
        shuffle=config.shuffle,
        delete=config.delete,
        mask=config.mask,
        infill=config.infill,
        mean_span=config.mean_span,
        mask_id=tokenizer.id(MASK) if config.masks else tokenizer.unknown,
        begins_word=np.array(
            [pieces or tokenizer.piece(id).startswith("▁") for id in range(tokenizer.num_ids)], bool
        ),
    )
