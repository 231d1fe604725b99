"""Aligns the words of two files, as fast_align does, and writes the links that both directions have.

    python benchmarks/diagonal_aligner.py --source train.en --target train.de --out train.links [--lines N]

IBM model 1 with a prior for the diagonal and for no word (Dyer et al. 2013, N13-1073, with the strength of the diagonal
fixed), by EM over whole arrays. Words are what white space separates, compared without case and punctuation. It is the
reference of `word_alignments.py` and makes files for `data.train: [{..., alignments: train.links}]`; fast_align and
eflomal align better. Files may be compressed.
"""

import argparse
import gzip
import lzma
import string
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

NO_WORD = 0
"""The number of the word that stands for none."""
P_NO_WORD = 0.08
DIAGONAL = 4.0
STRIPPED = string.punctuation + "„“”»«’‘–—…"


@dataclass(frozen=True)
class Pairs:
    """All pairs of words of all lines in one array each."""

    codes: np.ndarray
    """Which pair of words, by number."""
    priors: np.ndarray
    rows: np.ndarray
    """Which target word of the corpus."""
    sources: np.ndarray
    """The place of the source word in its line; -1 for none."""
    num_rows: int
    pair_source: np.ndarray
    """For each pair of words, the number of its source word."""


def main():
    args = arguments()
    begun = time.perf_counter()
    sources, targets = (lines_of(Path(path))[: args.lines] for path in (args.source, args.target))
    with Path(args.out).open("w", encoding="utf-8") as file:
        for links in align_both(sources, targets, rounds=args.rounds):
            file.write(" ".join(f"{i}-{j}" for i, j in sorted(links)) + "\n")
    print(f"{len(sources):,} lines aligned in {time.perf_counter() - begun:.0f} s: {args.out}")


def lines_of(path):
    """The lines of a file, compressed or not."""
    opened = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def align_both(sources, targets, *, rounds=5):
    """For each pair of lines the links of both directions, as sets."""
    forward = align(sources, targets, rounds=rounds)
    back = align(targets, sources, rounds=rounds)
    return [one & {(i, j) for j, i in other} for one, other in zip(forward, back, strict=True)]


def align(sources, targets, *, rounds=5):
    """For each pair of lines the links from each target word to its likeliest source word, as sets."""
    split = [line.split() for line in sources], [line.split() for line in targets]
    numbers = [numbered(lines) for lines in split]
    pairs = pairs_of(*numbers)
    chances = np.full(len(pairs.pair_source), 1.0)
    for _ in range(rounds):
        weights = pairs.priors * chances[pairs.codes]
        weights /= np.bincount(pairs.rows, weights, minlength=pairs.num_rows)[pairs.rows]
        counts = np.bincount(pairs.codes, weights, minlength=len(chances))
        chances = counts / np.bincount(pairs.pair_source, counts)[pairs.pair_source]
    return likeliest(pairs, pairs.priors * chances[pairs.codes], [len(line) for line in numbers[1]])


def numbered(lines):
    """Words as numbers from 1."""
    known = {}
    return [
        np.array([known.setdefault(plain(word), len(known) + 1) for word in line], np.int64) for line in lines
    ]


def plain(word):
    """Without case and punctuation at its ends; what is punctuation alone stays."""
    return word.lower().strip(STRIPPED) or word


def pairs_of(sources, targets):
    """Every target word with every source word of its line, and with no word."""
    codes, priors, rows, places = [], [], [], []
    num_rows = 0
    num_targets = 1 + max((int(line.max(initial=0)) for line in targets), default=0)
    for source, target in zip(sources, targets, strict=True):
        n, m = len(source), len(target)
        words = np.concatenate([[NO_WORD], source])
        codes.append((words[None, :] * num_targets + target[:, None]).ravel())
        distance = np.abs(
            (np.arange(m)[:, None] + 0.5) / max(m, 1) - (np.arange(n)[None, :] + 0.5) / max(n, 1)
        )
        near = np.exp(-DIAGONAL * distance)
        near = (1 - P_NO_WORD) * near / near.sum(1, keepdims=True) if n else near
        priors.append(np.concatenate([np.full((m, 1), P_NO_WORD), near], 1).ravel())
        rows.append(np.repeat(np.arange(num_rows, num_rows + m), n + 1))
        places.append(np.tile(np.arange(-1, n), m))
        num_rows += m
    unique, numbers = np.unique(np.concatenate(codes), return_inverse=True)
    return Pairs(
        numbers,
        np.concatenate(priors),
        np.concatenate(rows),
        np.concatenate(places),
        num_rows,
        unique // num_targets,
    )


def likeliest(pairs, weights, lengths):
    """The source word with the largest weight for each target word, as links of each line."""
    order = np.lexsort((-weights, pairs.rows))
    first = order[np.searchsorted(pairs.rows[order], np.arange(pairs.num_rows))]
    chosen = iter(pairs.sources[first].tolist())
    return [{(i, j) for j in range(length) if (i := next(chosen)) >= 0} for length in lengths]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lines", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
