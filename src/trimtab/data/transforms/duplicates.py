"""Pairs that repeat an earlier one, found by digests of their texts before a run.

A digest has 64 bits: among ten million different pairs two agree with a chance of 1 in 400,000, and then one is
dropped.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, UInt64

from trimtab.config.corpus_filters import DuplicateFilter
from trimtab.data.scan import loose


def key_of(source: str, target: str, *, tags: Sequence[str], config: DuplicateFilter) -> int:
    """64 bits of what two pairs must have in common to be the same; with other tags they never are."""
    if not config.exact:
        source, target = loose(source), loose(target)
    sides = {"pair": (source, target), "source": (source,), "target": (target,)}[config.by]
    # Lengths first, so that no two lists of texts are written alike.
    lengths = " ".join(str(len(text)) for text in (*tags, *sides))
    text = f"{len(tags)} {lengths}\n{''.join(tags)}{''.join(sides)}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def find_repeated(
    keys: UInt64[np.ndarray, "lines"], counted: Bool[np.ndarray, "lines"]
) -> Bool[np.ndarray, "lines"]:
    """The lines whose key an earlier line has; lines that are not counted are neither. Takes some 30 bytes a line."""
    order = np.argsort(keys, kind="stable")  # so equal ones stay in their order
    order = order[counted[order]]
    ordered = keys[order]
    repeated = np.zeros(len(keys), bool)
    repeated[order[1:][ordered[1:] == ordered[:-1]]] = True
    return repeated
