"""A summary of generated texts: how many, why they end, whether they repeat themselves."""

from collections import Counter
from dataclasses import dataclass, field

from trimtab.decode.continuation import Continuation, Stop
from trimtab.units import counted

LOOPS = 0.3
"""A larger share of repeated 4-grams is a text that goes round in a loop; what people write has some hundredths."""
_ENDS: dict[Stop, str] = {
    "end": "came to an end",
    "stop": "stopped at --stop",
    "max_tokens": "stopped at --max-tokens",
    "window": "stopped where the model can read no more",
}


@dataclass(slots=True)
class Tally:
    """Counts over texts."""

    tokens: int = 0
    ends: Counter[Stop] = field(default_factory=Counter[Stop])
    repeated: float = 0.0
    """Sum of the shares of repeated 4-grams, each times the tokens of its text."""
    loops: int = 0

    def add(self, text: Continuation) -> None:
        """Counts one text more."""
        self.tokens += text.num_tokens
        self.ends[text.stopped] += 1
        self.repeated += text.repeated * text.num_tokens
        self.loops += text.repeated > LOOPS

    def render(self) -> str:
        """`3 texts, 412 tokens: 2 came to an end, 1 stopped at --max-tokens; 4% of 4-grams repeated`."""
        count = self.ends.total()
        texts = counted(count, "text")
        ends = ", ".join(f"{self.ends[stop]:,} {words}" for stop, words in _ENDS.items() if self.ends[stop])
        share = self.repeated / self.tokens if self.tokens else 0.0
        tokens = counted(self.tokens, "token")
        told = f"{texts}, {tokens}" + (f": {ends}; {share:.0%} of 4-grams repeated" if count else "")
        if not self.loops:
            return told
        who = "it goes" if count == 1 else f"{self.loops:,} of them go"
        return (
            f"{told}\n{who} round in a loop: raise --temperature, or train the model longer or on more text"
        )
