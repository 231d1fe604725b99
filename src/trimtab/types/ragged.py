"""Rows of different lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.errors import InputError, input_error


def not_ids(row: int | None, got: object) -> InputError:
    """Of rows that are no rows of ids."""
    return input_error(
        "Ragged.of: rows are no rows of ids" if row is None else f"Ragged.of: row {row} holds no ids",
        got=str(got),
        allowed="a list of rows, each a list of whole numbers below 2^31",
        fix="encode texts first: [tokenizer.encode(text) for text in texts]",
    )


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: np.ndarray
    offsets: np.ndarray
    """int64, one more than there are rows, beginning with 0."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """Rows of plain ids, joined; InputError for what is no whole number, or too large for 32 bits."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        try:
            np.cumsum([len(row) for row in rows], out=offsets[1:])
            values = np.empty(int(offsets[-1]), np.int64)
            for number, (row, start) in enumerate(zip(rows, offsets, strict=False)):
                found = np.asarray(row)
                if found.dtype.kind not in "iu" and found.size:
                    raise not_ids(number, found.dtype)
                values[start : start + len(row)] = found
        except (TypeError, ValueError, OverflowError) as error:
            raise not_ids(None, error) from None
        if values.size and not -(2**31) <= values.min() <= values.max() < 2**31:
            raise not_ids(None, "a number beyond 32 bits")
        return cls(values.astype(np.int32), offsets)

    @classmethod
    def joined(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """The rows of all parts, one after another."""
        if not parts:
            return cls(np.empty(0, np.int32), np.zeros(1, np.int64))
        shifts = np.cumsum([0] + [part.offsets[-1] for part in parts])
        offsets = [np.zeros(1, np.int64)] + [
            part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)
        ]
        return cls(np.concatenate([part.values for part in parts]), np.concatenate(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Length of each row, int64."""
        return np.diff(self.offsets)

    def row(self, index: int) -> np.ndarray:
        """Row `index`, a view."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def between(self, start: int, stop: int) -> "Ragged":
        """Rows start to stop, a view of the values."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def take(self, order: np.ndarray) -> "Ragged":
        """The rows in another order (or some of them)."""
        lengths = self.lengths[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(self.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[places], offsets)
