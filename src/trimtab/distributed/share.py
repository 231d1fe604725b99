"""What of a step falls to each rank: its micro-batches, and random numbers of its own."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from trimtab.types import Batch

Each = TypeVar("Each", bound=Batch)


def deal(batches: Sequence[Each], world_size: int, *, in_order: bool = False) -> list[list[Each]]:
    """The micro-batches of each rank, in their order: with about as many tokens for each, and at most one more
    micro-batch for one rank than for another. A function of the batches alone, so that every rank finds the same.
    `in_order` gives each rank those of the same places in every step, whatever they hold.

    Ranks for which nothing is left have an empty list, and take part in the step anyway.
    """
    if in_order:
        return [list(batches[rank::world_size]) for rank in range(world_size)]
    largest_first = sorted(range(len(batches)), key=lambda i: -batches[i].num_tokens)
    hands: list[list[int]] = [[] for _ in range(world_size)]
    tokens = [0] * world_size
    for start in range(0, len(batches), world_size):
        emptiest_first = sorted(range(world_size), key=lambda rank: tokens[rank])
        for rank, i in zip(emptiest_first, largest_first[start : start + world_size], strict=False):
            hands[rank].append(i)
            tokens[rank] += batches[i].num_tokens
    return [[batches[i] for i in sorted(hand)] for hand in hands]


def dropout_seed(seed: int, *, step: int, rank: int = 0) -> int:
    """Where the random numbers of dropout begin in a step, below 2^63: the same for each run of a seed, and another one
    for each rank, since two ranks with one mask would drop the same units of different sentences."""
    text = f"{seed} dropout {step}" + (f" rank {rank}" if rank else "")
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
