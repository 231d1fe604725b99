"""What was generated from one prompt, and why it ends where it does."""

from dataclasses import dataclass
from typing import Any, Literal

Stop = Literal["end", "max_tokens", "window"]
"""The model wrote the end symbol; there are as many tokens as were asked for; the model can read no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """One text that goes on from a prompt."""

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
