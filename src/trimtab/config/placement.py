"""What is wrong with a placement of directions on processes: the share of each direction that each process takes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.errors import Problem

EVEN = 1e-3
"""By so much the shares of a direction may miss 1, as rounded ones do."""
GIVE_WORK = "give it a share of a direction, or plan for fewer GPUs"


def placement_problems(ranks: Sequence[Any], directions: Sequence[str], *, key: str) -> Iterator[Problem]:
    """Ranks without work, unknown directions, shares that are none, and those of a direction that do not add up to 1.
    `key` is what the placement was given as."""
    placed = Counter[str]()
    for number, rank in enumerate(ranks):
        if not isinstance(rank, Mapping) or not rank:
            yield Problem(
                what=f"{key}: rank {number} has no work",
                got=repr(cast("Any", rank))[:80],
                allowed="an object with the share of each direction on this rank",
                fix=GIVE_WORK,
            )
            continue
        shares = cast("Mapping[str, Any]", rank)
        for name, share in shares.items():
            if name not in directions:
                yield Problem(
                    what=f"{key}: rank {number} has a direction that is not in the recipe",
                    got=str(name)[:80],
                    allowed=", ".join(directions),
                    fix=did_you_mean(nearest_words(str(name), list(directions)))
                    or "write a direction of `model.directions`",
                )
            elif isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                yield Problem(
                    what=f"{key}: rank {number}: not a share of {name}",
                    got=repr(share)[:80],
                    allowed="a number from 0 to 1",
                    fix="the shares of a direction on all ranks add up to 1",
                )
            else:
                placed[name] += share  # pyright: ignore[reportArgumentType]
        if not any(shares.values()):
            yield Problem(
                what=f"{key}: rank {number} has no work",
                got=", ".join(f"{name} {share}" for name, share in shares.items())[:80],
                allowed="a share above 0",
                fix=GIVE_WORK,
            )
    wrong = [f"{name} {placed[name]:.3f}" for name in directions if abs(placed[name] - 1) > EVEN]
    if wrong:
        yield Problem(
            what=f"{key}: shares do not add up to 1",
            got=", ".join(wrong[:10]) + (" ..." if len(wrong) > 10 else ""),
            allowed="1 for each direction, over all ranks",
            fix="write every direction of the model, and divide the shares of each by their sum",
        )
