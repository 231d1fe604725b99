"""One translation of a line as text, with its scores; joins the pieces of a line that was cut; n-best lists as text."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A translation of a line."""

    text: str
    score: float
    """Log-probability after length normalisation: `log_probability / num_tokens ** length_penalty`. Of a line that was
    cut in pieces, the mean of its pieces' scores."""
    log_probability: float
    """Sum of the natural log-probabilities that the model gives each token, end symbol and forced prefix included."""
    num_tokens: int
    """Tokens that the sum is over; 0 where there was nothing to translate."""


NOTHING = Candidate(text="", score=0.0, log_probability=0.0, num_tokens=0)
"""What a line without anything to translate becomes."""


def join_best(pieces: Sequence[Sequence[Candidate]], *, n: int) -> list[Candidate]:
    """The `n` best translations of a line from those of its pieces, each list the best first: by the mean of scores.

    A sum grows with each of its parts, so no more than the `n` best of the line's beginning are ever needed.
    """
    if len(pieces) == 1:
        return list(pieces[0][:n])
    best = [NOTHING]
    for piece in pieces:
        longer = [_joined(before, after) for before in best for after in piece]
        best = sorted(longer, key=lambda candidate: -candidate.score)[:n]
    return [_averaged(candidate, len(pieces)) for candidate in best]


def join_samples(pieces: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The samples of a line from those of its pieces: the first of each, the second of each, and so on."""
    if len(pieces) == 1:
        return list(pieces[0])
    samples = []
    for parts in zip(*pieces, strict=True):
        whole = NOTHING
        for part in parts:
            whole = _joined(whole, part)
        samples.append(_averaged(whole, len(pieces)))
    return samples


def _joined(before: Candidate, after: Candidate) -> Candidate:
    return Candidate(
        text=before.text + after.text,
        score=before.score + after.score,
        log_probability=before.log_probability + after.log_probability,
        num_tokens=before.num_tokens + after.num_tokens,
    )


def _averaged(candidate: Candidate, num_pieces: int) -> Candidate:
    return Candidate(
        text=candidate.text,
        score=candidate.score / num_pieces,
        log_probability=candidate.log_probability,
        num_tokens=candidate.num_tokens,
    )


SEPARATOR = " ||| "


def n_best_text(number: int, candidates: Sequence[Candidate]) -> str:
    """`number ||| text ||| F0= log-probability ||| score`, one line a candidate; `number` is the line's, from 0.

    `F0` is the sum of natural log-probabilities, the last field the score after length normalisation by which the
    list is ordered. A text that has the separator in it is written as it is: the first field and the last two are
    found from both ends.
    """
    return "".join(
        f"{number}{SEPARATOR}{each.text}{SEPARATOR}F0= {each.log_probability:.6f}{SEPARATOR}{each.score:.6f}\n"
        for each in candidates
    )
