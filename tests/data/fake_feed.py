"""A feed without files: corpora whose lines are words that name them, and a tokenizer that reads the names."""

import functools
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from trimtab.data.chunk import Feed
from trimtab.data.mixture import Mixture
from trimtab.data.order import permuted
from trimtab.data.transforms.apply import Dropped
from trimtab.errors import input_error

END, TAG = 3, 5
LONGEST = 24


@dataclass(frozen=True)
class FakeCorpus:
    name: str
    length: int
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    bad_line: int | None = None
    empty_documents: tuple[int, ...] = ()
    passed_over: tuple[tuple[str, int], ...] = ()
    first_line: int = 1

    @property
    def fingerprint(self):
        return f"{self.name}-{self.length}"

    def __len__(self):
        return self.length

    def line_number(self, line):
        return self.first_line + line

    def num_bytes(self, line):
        return 0

    def pair(self, line):
        """The line's number, from 10, as often as a hash of it says, which differs on the two sides."""
        if line == self.bad_line:
            raise input_error(
                f"{self.name}.en: not UTF-8", got="byte 0xff", where=f"{self.name}.en:{line + 1}"
            )
        source, target = lengths_of(self.name)[:, line % 1000].tolist()
        return " ".join([str(line + 10)] * source), " ".join([str(line + 10)] * target)


@functools.cache
def lengths_of(name):
    """Words per side, so that with tag and end symbol none is longer than LONGEST."""
    return 1 + permuted(np.arange(2000), n=2000, key=(len(name), ord(name[0]))).reshape(2, 1000) % (
        LONGEST - 2
    )


@dataclass(frozen=True)
class FakePipeline:
    """Drops every `every`-th line of a corpus as `multiple`; a random one drops a fifth by chance."""

    every: int = 10**9
    needs_random: bool = False

    def of(self, corpus):
        return self

    def apply(self, source, target, rng, line=None):
        if self.needs_random and rng.random() < 0.2:
            return Dropped("chance")
        return Dropped("multiple") if int(source.split()[0]) % self.every == 0 else (source, target)


@dataclass(frozen=True)
class DeadlyPipeline:
    """At one line, by the number that stands in it, the process that reads it is killed, hangs, or stops by itself."""

    word: str
    death: str = "killed"
    needs_random: bool = False

    def of(self, corpus):
        return self

    def apply(self, source, target, rng, line=None):
        if source.split()[0] == self.word:
            if self.death == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.death == "ends":
                os._exit(0)
            time.sleep(1000)
        return source, target


@dataclass(frozen=True)
class FakeTokenizer:
    def encode(self, lines):
        return [[*map(int, line.split()), END] for line in lines]

    def encode_with_tags(self, lines, tags):
        return [[TAG] * len(tags) + row for row in self.encode(lines)]


def fake_feed(
    *, lengths=(31, 17), weights=(1.0, 1.5), max_tokens=LONGEST, seed=1, pipeline=None, bad_line=None
):
    corpora = [
        FakeCorpus(
            name=f"{'ab'[number]}{number}",
            length=length,
            tags=("<b>",) * number,
            weight=weight,
            bad_line=None if number else bad_line,
        )
        for number, (length, weight) in enumerate(zip(lengths, weights, strict=True))
    ]
    mixture = Mixture.of(lengths=lengths, weights=weights, seed=seed)
    return Feed(corpora, pipeline or FakePipeline(), FakeTokenizer(), mixture, max_tokens)
