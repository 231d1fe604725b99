"""Weights that are stored with fewer bits, and how far the text may then be from the trainer's."""

import math
from dataclasses import dataclass

from trimtab.errors import input_error

EXACT = "float32"
MOST_LOSS = 10.0
"""Points of chrF by default: int8 changes a word in some lines of most sets, a broken export changes all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """How the weights of an export are rounded; float32 are those of the training."""

    kind: str = EXACT
    """What the library calls it: float16, bfloat16, int8, ..."""
    most_loss: float = MOST_LOSS
    """The most points of chrF by which the export's translations may differ from the trainer's, 100 being the same."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.most_loss) and 0 <= self.most_loss <= 100):
            raise input_error(
                "--loss: out of range",
                got=str(self.most_loss),
                allowed="0 to 100 points of chrF",
                fix="leave it out, or set for instance --loss 5",
            )

    @property
    def is_exact(self) -> bool:
        """Whether nothing is rounded, so that every log-probability must be that of the trainer."""
        return self.kind == EXACT


def quantized_by(given: object) -> Quantized:
    """What a caller says of the weights: nothing, a kind alone, or all of it; InputError for anything else."""
    match given:
        case None:
            return Quantized()
        case str():
            return Quantized(kind=given)
        case Quantized():
            return given
        case _:
            raise input_error(
                "quantized: unknown kind of weights",
                got=repr(given),
                allowed="a kind such as 'int8', or trimtab.Quantized(kind='int8', most_loss=5)",
                fix="leave it out for float32",
            )


def check_kind(kind: str, *, target: str, kinds: tuple[str, ...]) -> None:
    """InputError if the target has no such weights."""
    if kind not in kinds:
        raise input_error(
            f"--quantization {kind}: an export for {target} has no such weights",
            got=kind,
            allowed=", ".join(kinds),
            fix="leave it out for float32"
            if len(kinds) == 1
            else f"use --quantization {kinds[-1]} (in Python: quantized={kinds[-1]!r})",
        )
