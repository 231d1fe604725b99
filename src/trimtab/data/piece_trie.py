"""The pieces of a vocabulary as a tree of their characters, walked at many places of a text at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.data.number_table import NumberTable

NO_PIECE = -1
"""In place of the id, where what was read is no piece."""

_CODE_BITS = np.uint64(21)


@dataclass(frozen=True, slots=True)
class PieceTrie:
    """Nodes are numbered from 0, the root."""

    ids: np.ndarray
    """For each node the id of the piece that ends there, or NO_PIECE, int32."""
    scores: np.ndarray
    """Its score, float64."""
    edges: NumberTable
    """The node that is reached from a node by a character."""

    @classmethod
    def of(cls, pieces: Mapping[str, tuple[int, float]]) -> "PieceTrie":
        """The tree of pieces with their ids and scores."""
        nodes = {"": 0}
        for piece in pieces:
            for end in range(1, len(piece) + 1):
                nodes.setdefault(piece[:end], len(nodes))
        found = [pieces.get(node, (NO_PIECE, 0.0)) for node in nodes]
        below = list(nodes)[1:]
        parents = np.array([nodes[node[:-1]] for node in below], np.int64)
        codes = np.array([ord(node[-1]) for node in below], np.int64)
        return cls(
            np.array([id for id, _ in found], np.int32),
            np.array([score for _, score in found], np.float64),
            NumberTable.of(_keys(parents, codes), np.arange(1, len(nodes))),
        )

    def pieces_at(self, codes: np.ndarray, ends: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For one character, then two and so on: the places where a piece of so many begins, and its node there.

        `codes` are code points, and `ends` says for each place where the text ends that it belongs to; what is longer
        than any beginning of a piece in them is left out.
        """
        places, nodes, size = np.arange(len(codes)), np.zeros(len(codes), np.int64), 0
        while places.size:
            children = self.edges.get(_keys(nodes, codes[places + size]))
            walked = np.flatnonzero(children)
            if not walked.size:
                return
            places, nodes, size = places[walked], children[walked], size + 1
            whole = np.flatnonzero(self.ids[nodes] != NO_PIECE)
            yield places[whole], nodes[whole]
            inside = np.flatnonzero(places + size < ends[places])
            places, nodes = places[inside], nodes[inside]


def _keys(nodes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return nodes.astype(np.uint64) << _CODE_BITS | codes.astype(np.uint64)
