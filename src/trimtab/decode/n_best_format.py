"""Lists of translations as lines of text, in the form that Moses and Marian write and rerankers read."""

from collections.abc import Sequence

from trimtab.decode.candidate import Candidate

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
