"""What was generated from one prompt, why it ends where it does, and how much of it repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Stop = Literal["end", "stop", "max_tokens", "window"]
"""The model wrote the end symbol; a stop string came, which is not part of the text; there are as many tokens as were
asked for; the model can read no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """One text that continues from a prompt."""

    line: int
    """Number of the prompt, counted from 1."""
    sample: int
    """Which of the texts of this prompt, counted from 1."""
    prompt: str
    """As it was given."""
    text: str
    """What follows the prompt."""
    num_tokens: int
    """Of what follows, the end symbol included."""
    stopped: Stop
    log_probability: float
    """Sum of the natural log-probabilities of these tokens by the model itself, without temperature and whatever else
    shaped the drawing."""
    repeated: float
    """Share of its 4-grams of tokens that it had before; see `decode.repeated`."""
    whole: str
    """Prompt and text together, as the tokenizer writes them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON has."""
        return {
            "line": self.line,
            "sample": self.sample,
            "prompt": self.prompt,
            "text": self.text,
            "tokens": self.num_tokens,
            "stopped": self.stopped,
            "log_probability": self.log_probability,
            "repeated": self.repeated,
        }


SIZE = 4
"""Symbols of the n-grams that are counted."""


def repeated_share(ids: Sequence[int], *, size: int = SIZE) -> float:
    """The share of n-grams of `size` symbols that stood in the row before: 1 - distinct / total; 0 if there is none.

    Source: seq-rep-n of Welleck et al. 2019, arXiv 1908.04319, section 6.1.
    """
    grams = [tuple(ids[start : start + size]) for start in range(len(ids) - size + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
