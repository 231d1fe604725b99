"""A hash table of numbers, looked into for many of them at once."""

from dataclasses import dataclass

import numpy as np

_EMPTY = np.uint64(2**64 - 1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SLOTS_PER_KEY = 4
"""At least; so most keys are found, or found to be missing, at the first look."""


@dataclass(frozen=True, slots=True)
class NumberTable:
    """Numbers by numbers, with linear probing."""

    keys: np.ndarray
    """The content of each slot, uint64."""
    values: np.ndarray
    """Its value, int64."""

    @classmethod
    def of(cls, keys: np.ndarray, values: np.ndarray) -> "NumberTable":
        """The table of different keys, uint64 and below 2^64 - 1, with the value of each."""
        size = 1 << max(2, (_SLOTS_PER_KEY * len(keys)).bit_length())  # a slot at least stays empty
        table = cls(np.full(size, _EMPTY), np.zeros(size, np.int64))
        left, slots = np.arange(len(keys)), table._home(keys)
        while left.size:
            free = np.flatnonzero(table.keys[slots] == _EMPTY)
            # Of those that want the same slot, the last one gets it.
            table.keys[slots[free]] = keys[left[free]]
            placed = table.keys[slots] == keys[left]
            table.values[slots[placed]] = values[left[placed]]
            left, slots = left[~placed], table._after(slots[~placed])
        return table

    def get(self, keys: np.ndarray) -> np.ndarray:
        """The value of each key, 0 where it is not in the table; int64, in the shape of the keys."""
        return self._found(keys.ravel()).reshape(keys.shape)

    def _found(self, keys: np.ndarray) -> np.ndarray:
        slots = self._home(keys)
        seen = self.keys[slots]
        found = seen == keys
        values = np.where(found, self.values[slots], 0)
        left = np.flatnonzero(~found & (seen != _EMPTY))
        slots = slots[left]
        while left.size:
            slots = self._after(slots)
            seen, wanted = self.keys[slots], keys[left]
            found = seen == wanted
            values[left[found]] = self.values[slots[found]]
            going = ~found & (seen != _EMPTY)
            left, slots = left[going], slots[going]
        return values

    def _home(self, keys: np.ndarray) -> np.ndarray:
        """Where each key is looked for first."""
        shift = np.uint64(64 - (len(self.keys).bit_length() - 1))
        return ((keys * _SPREAD) >> shift).astype(np.int64)

    def _after(self, slots: np.ndarray) -> np.ndarray:
        return (slots + 1) & (len(self.keys) - 1)
