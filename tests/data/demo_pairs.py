"""Real text for tests: lines of an office program's help in English and German."""

import lzma
from functools import cache
from importlib.resources import files


@cache
def demo_pairs(count: int = 2000, name: str = "train") -> tuple[tuple[str, str], ...]:
    """The first pairs of the sample that comes with the package."""
    packed = (files("trimtab.demo") / "data" / f"{name}.tsv.xz").read_bytes()
    lines = lzma.decompress(packed).decode().split("\n")[:count]
    return tuple((source, target) for source, target in (line.split("\t") for line in lines if line))


class Listed:
    """Pairs as a corpus."""

    def __init__(self, pairs, name="demo", tags=()):
        self.pairs, self.name, self.tags = list(pairs), name, tags

    def __len__(self):
        return len(self.pairs)

    def pair(self, line):
        return self.pairs[line]

    def several(self, lines):
        return map(self.pair, lines)


def lost(pairs, line):
    """The pairs where one line of the target is lost and the end filled up."""
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    return list(zip(sources, [*targets[:line], *targets[line + 1 :], "Ende."], strict=True))
