"""Data order as a function: keyed permutations with random access, and random streams named by numbers.

Nothing here has a state, so nothing needs saving: whoever knows the numbers knows the order.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from trimtab.arguments import described, whole_number, wrong

_ROUNDS = 8
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def permuted(
    index: np.ndarray | int, *, n: np.ndarray | int, key: tuple[np.ndarray | int, ...]
) -> np.ndarray:
    """Where `index` goes under the permutation of 0 to n - 1 that belongs to `key`; int64.

    Arrays in `index`, `n` and `key` broadcast, so one call can look into many permutations. Memory and time do not
    depend on n. A generalised Feistel network over a domain just above n, walked until the result is below n.
    InputError for an index outside of 0 to n - 1.

    Source: Black and Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA 2002, sections 4 and 5.
    """
    if not isinstance(key, tuple):
        raise wrong(
            "permuted: key",
            "is no tuple",
            got=described(key),
            allowed="a tuple of whole numbers",
            fix="(seed, epoch)",
        )
    shape = np.broadcast_shapes(*(np.shape(part) for part in (index, n, *key)))
    # At least one axis, since numpy warns of overflow, which is wanted here, in scalars only.
    index, n, *numbers = np.broadcast_arrays(np.atleast_1d(index), n, *key)
    if any(each.dtype.kind not in "iu" for each in (index, n, *numbers)) or (n < 1).any():
        raise wrong(
            "permuted",
            "index, n or key holds something else than whole numbers, or n is below 1",
            got=", ".join(str(each.dtype) for each in (index, n, *numbers)),
            allowed="whole numbers, n of at least 1",
            fix="permuted(np.arange(5), n=1000, key=(seed, epoch))",
        )
    if index.size and not ((index >= 0) & (index < n)).all():
        raise wrong(
            "permuted: index",
            "is outside of 0 to n - 1",
            got=f"{int(index.min())} to {int(index.max())}, for n up to {int(n.max())}",
            allowed="0 to n - 1",
            fix="take it modulo n, and put the number of the epoch into the key",
        )
    size = n.astype(np.uint64)
    columns = _root_rounded_up(size)
    rows = (size + columns - np.uint64(1)) // columns
    state = _hashed(numbers, shape=index.shape)
    place = _encrypt(index.astype(np.uint64), rows=rows, columns=columns, state=state)
    outside = np.flatnonzero(place >= size)
    while outside.size:
        moved = _encrypt(
            place.flat[outside],
            rows=rows.flat[outside],
            columns=columns.flat[outside],
            state=state.flat[outside],
        )
        place.flat[outside] = moved
        outside = outside[moved >= size.flat[outside]]
    return place.astype(np.int64).reshape(shape)


def random_stream(seed: int, *numbers: int) -> np.random.Generator:
    """A generator of its own for (seed, numbers), the same wherever and whenever it is made.

    InputError for numbers that are not whole: 1.0 would name another stream than 1.

    Source: Philox, a counter-based generator; Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
    """
    whole = [
        whole_number(
            number, name="random_stream", least=-(2**63), fix="name the stream by seed, epoch, position"
        )
        for number in (seed, *numbers)
    ]
    name = " ".join(str(number) for number in whole)
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(digest, "<u8")))


def stream_keys(*numbers: np.ndarray | int) -> np.ndarray:
    """64 bits for the numbers, which may be arrays and broadcast: what names a stream of `uniform`."""
    parts = np.broadcast_arrays(*(np.atleast_1d(number) for number in numbers))
    return _hashed(parts, shape=parts[0].shape)


def uniform(keys: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The numbers at `index` in the streams of `keys`, from 0 to below 1, float64; the arrays broadcast.

    For draws that are many and small, where a generator for each stream would cost more than what is drawn.
    Source: SplitMix64, which is counter-based; Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
    OOPSLA 2014, figure 13.
    """
    word = _mixed(keys + (index.astype(np.uint64) + np.uint64(1)) * _GOLDEN)
    return (word >> np.uint64(11)) * 2.0**-53


def _encrypt(place: np.ndarray, *, rows: np.ndarray, columns: np.ndarray, state: np.ndarray) -> np.ndarray:
    """One bijection of 0 to rows · columns - 1: in turn, one coordinate is shifted by a hash of the other."""
    row, column = place // columns, place % columns
    for number in range(1, _ROUNDS + 1):
        key = _mixed(state ^ np.uint64(number))
        if number % 2:
            row = (row + _mixed(key ^ column) % rows) % rows
        else:
            column = (column + _mixed(key ^ row) % columns) % columns
    return row * columns + column


def _root_rounded_up(size: np.ndarray) -> np.ndarray:
    root = np.sqrt(size.astype(np.float64)).astype(np.uint64)
    return root + (root * root < size)


def _hashed(numbers: Sequence[np.ndarray], *, shape: tuple[int, ...]) -> np.ndarray:
    """64 bits of the numbers in their order, element by element."""
    state = np.full(shape, len(numbers), np.uint64)
    for number in numbers:
        state = _mixed((state + _GOLDEN) ^ _mixed(number.astype(np.uint64) + _GOLDEN))
    return state


def _mixed(word: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: each bit of the input moves about half of the output's.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 14.
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
