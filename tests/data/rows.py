"""Rows of ids by their lengths, each id different, so that tests see where every token went."""

import numpy as np
from hypothesis import strategies as st

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.types import Ragged

START, PAD = 2, 0


def rows(lengths, *, first=100):
    """Rows of these lengths whose ids count up from `first`."""
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Ragged(np.arange(first, first + offsets[-1], dtype=np.int32), offsets)


def window_of(pairs):
    """The window of examples given as (source length, target length)."""
    source, target = (np.array(lengths, np.int64) for lengths in zip(*pairs, strict=True))
    numbers = np.arange(len(pairs))
    return TextGlobalBatch(
        rows(source), rows(target, first=10_000_000), np.zeros(len(pairs), np.int32), numbers, len(pairs)
    )


def pairs_up_to(max_seqlen, *, most=80):
    """Examples as (source length, target length)."""
    length = st.integers(1, max_seqlen)
    return st.lists(st.tuples(length, length), min_size=1, max_size=most)


def segments_of(stream, count):
    """The first so many segments of a stream as lists of ids."""
    bounds = stream.cu_seqlens.tolist()
    return [stream.ids[bounds[i] : bounds[i + 1]].tolist() for i in range(count)]
