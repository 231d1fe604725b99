"""How to continue from a prompt: how far, how often, and how each next symbol is chosen."""

from dataclasses import dataclass

from trimtab.decode.sampling import Sampling
from trimtab.decode.search import MOST_CANDIDATES
from trimtab.errors import input_error

USUAL = Sampling(temperature=0.8, top_p=0.95)
"""What texts are drawn by where nothing else is said: the likeliest symbol each time soon repeats itself, and the
model's whole distribution has a long tail of symbols that do not fit (Holtzman et al. 2019, arXiv 1904.09751)."""

MOST_STOPS = 64
"""Each is looked for behind every symbol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationConfig:
    """Settings of generating text."""

    max_tokens: int = 256
    """Most tokens after a prompt, the end symbol included."""
    samples: int = 1
    """Texts for each prompt, each drawn by random numbers of its own."""
    sampling: Sampling | None = USUAL
    """How symbols are drawn; None takes the likeliest each time."""
    stop: tuple[str, ...] = ()
    """Strings before which a text ends; they are not part of it."""

    def __post_init__(self) -> None:
        if "" in self.stop or len(self.stop) > MOST_STOPS:
            raise input_error(
                "stop: no string to stop at",
                got=f"{len(self.stop)} strings" + (", one of them empty" if "" in self.stop else ""),
                allowed=f"up to {MOST_STOPS} strings, none of them empty",
                fix='name what ends a text, such as a line end: "\\n"',
            )
        if not 1 <= self.max_tokens <= 1_000_000:
            raise input_error(
                "max_tokens: out of range",
                got=str(self.max_tokens),
                allowed="1 to 1,000,000",
                fix="256 is usual; a text never exceeds the model's window",
            )
        if not 1 <= self.samples <= MOST_CANDIDATES:
            raise input_error(
                "samples: out of range",
                got=str(self.samples),
                allowed=f"1 to {MOST_CANDIDATES}",
                fix="ask for fewer, and repeat with another seed",
            )
        if self.samples > 1 and self.sampling is None:
            raise input_error(
                "samples: greedy decoding gives the same text every time",
                got=f"{self.samples} samples with temperature 0",
                allowed="1, or a temperature above 0",
                fix="set a temperature, such as 0.8",
            )
