"""Trains byte-level BPE and SuperBPE, and writes them as the `tokenizer.json` that the library tokenizers reads.

Sources: byte-level BPE is that of GPT-2 (Radford et al. 2019); SuperBPE is Liu et al. 2025, arXiv 2503.13423, sections
2 and 3: merges inside words up to a size of the vocabulary, then merges across spaces. Pre-tokenization is that of its
released code: words with one sign before them, digits by threes, runs of signs. Stage 2 keeps digits and runs of signs
apart, and also line ends, so that documents are split line by line, as they are trained.

Text is counted in aggregated form: lines and words once each, with how often they occur (compare arXiv 2604.05192).
"""

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, groupby
from typing import Any

import numpy as np

from trimtab.data.pair_merges import END, Segmented, learn_merges

WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""What no piece of a subword vocabulary goes beyond. The released pattern has the endings of English ('s, 't) too,
which are words of their own here as well unless letters follow them."""
CHUNKS = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)|[\r\n]+"
"""What stays apart in a superword vocabulary; the text between is one chunk."""
NUM_BYTES, NUM_SPECIAL = 256, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Merges:
    """A trained vocabulary."""

    pieces: list[bytes]
    """The bytes, then what each merge makes."""
    pairs: list[tuple[int, int]]
    num_subwords: int
    """How many of the pieces were merged inside words."""


def train_subwords(
    lines: Iterable[str], *, num_pieces: int, taken: frozenset[str] = frozenset(), longest: int
) -> Merges:
    """Byte-level BPE of `num_pieces` pieces, bytes included; fewer where no pair occurs twice any more. No piece is
    spelled like one of `taken`, or has more than `longest` bytes."""
    pieces = all_bytes()
    pairs = _subwords(Counted.of(lines), pieces, num_pieces, _Rule(taken, longest))
    return Merges(pieces=pieces, pairs=pairs, num_subwords=len(pieces))


def train_superwords(
    lines: Iterable[str],
    *,
    num_pieces: int,
    num_subwords: int,
    longest_words: int,
    taken: frozenset[str] = frozenset(),
    longest: int,
) -> Merges:
    """SuperBPE of `num_pieces` pieces, of which `num_subwords` at most are merged inside words; a superword has at most
    `longest_words` words, and none goes on behind a colon (the answer follows it in prompts)."""
    counted, pieces = Counted.of(lines), all_bytes()
    pairs = _subwords(counted, pieces, num_subwords, _Rule(taken, longest))
    learned = len(pieces)
    chunks = counted.chunks(_encoder(pieces, pairs))
    rule = _Rule(taken, longest, longest_words)
    pairs += learn_merges(chunks, pieces, num_pieces - learned, may_merge=rule)
    return Merges(pieces=pieces, pairs=pairs, num_subwords=learned)


def all_bytes() -> list[bytes]:
    """The first pieces of every vocabulary."""
    return [bytes([byte]) for byte in range(NUM_BYTES)]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which bytes may be a piece: whole characters or a part of one, so that no piece has the end of a character and
    the beginning of another, and what is written is text more often."""

    taken: frozenset[str]
    longest: int
    longest_words: int = 0
    """0 for pieces inside words."""

    def __call__(self, piece: bytes) -> bool:
        if len(piece) > self.longest or (self.taken and spelled(piece) in self.taken):
            return False
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            return _is_part(piece)
        return not self.longest_words or (len(text.split()) <= self.longest_words and ": " not in text)


def _is_part(piece: bytes) -> bool:
    """Whether bytes are a part of one character."""
    first, *others = piece
    if any(byte & 0xC0 != 0x80 for byte in others):
        return False
    if first & 0xC0 == 0x80:
        return len(piece) <= 3
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    return 0xC2 <= first <= 0xF4 and len(piece) < size


def _subwords(counted: "Counted", pieces: list[bytes], num_pieces: int, rule: _Rule) -> list[tuple[int, int]]:
    words = counted.pretokens()
    texts = Segmented.of_bytes([word.encode() for word in words], list(words.values()))
    return learn_merges(texts, pieces, num_pieces - NUM_BYTES, may_merge=rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Lines in aggregated form: each different line once, as numbers of its words, each different word once."""

    words: list[str]
    """Each with the space before it; a line whose spaces are not single ones is one word."""
    numbers: np.ndarray
    """The words of all different lines, int32."""
    lengths: np.ndarray
    """How many words each different line has."""
    counts: np.ndarray
    """How often each different line occurs."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Counted":
        """The lines counted; empty ones are left out."""
        different = Counter(lines)
        different.pop("", None)
        # A word at the beginning of a line has no space before it, and so another number.
        number = count()
        first: defaultdict[str, int] = defaultdict(number.__next__)
        others: defaultdict[str, int] = defaultdict(number.__next__)
        numbers, lengths = array("i"), array("i")
        for line in different:
            words = line.split()
            # No merge inside words reaches from a letter or a sign to the space behind it, so that words are encoded
            # alone as they are in their line. Other spaces can belong to one piece.
            if " ".join(words) != line:
                words = [line]
            numbers.append(first[words[0]])
            numbers.extend(map(others.__getitem__, words[1:]))
            lengths.append(len(words))
        every = {id: word for word, id in first.items()} | {id: f" {word}" for word, id in others.items()}
        return cls(
            words=[every[id] for id in range(len(every))],
            numbers=np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32),
            lengths=np.frombuffer(lengths, np.int32) if lengths else np.zeros(0, np.int32),
            counts=np.fromiter(different.values(), np.int64, len(different)),
        )

    def pretokens(self) -> dict[str, int]:
        """How often each pre-token occurs, in the order of their texts."""
        weights = np.repeat(self.counts, self.lengths)
        # Exact: a sum of whole numbers below 2^53.
        often = np.bincount(self.numbers, weights, len(self.words)).astype(np.int64).tolist()
        pattern, found = compiled(WORDS), Counter[str]()
        for word, times in zip(self.words, often, strict=True):
            for each in pattern.findall(word):
                found[each] += times
        return dict(sorted(found.items()))

    def chunks(self, encode: Callable[[Sequence[str]], list[list[int]]]) -> Segmented:
        """The lines as pieces, `END` behind each chunk; `encode` gives the pieces of texts."""
        pattern = compiled(f"({CHUNKS})")
        # By the group, what stays apart has the odd numbers.
        parts = [pattern.split(word) for word in self.words]
        rows = iter(encode([part for some in parts for part in some if part]))
        # The text at the end of a word goes on into the next one.
        flat, lengths = array("i"), array("i")
        for some in parts:
            before = len(flat)
            for number, part in enumerate(some):
                if number:
                    flat.append(END)
                if part:
                    flat.extend(next(rows))
            lengths.append(len(flat) - before)
        return self._joined(np.frombuffer(flat, np.int32), np.frombuffer(lengths, np.int32).astype(np.int64))

    def _joined(self, flat: np.ndarray, lengths: np.ndarray) -> Segmented:
        """The pieces of all words in the order of the lines."""
        starts = np.cumsum(lengths) - lengths
        sizes = lengths[self.numbers]
        stops = np.cumsum(sizes)
        at = np.arange(int(stops[-1]) if len(stops) else 0) + np.repeat(
            starts[self.numbers] - stops + sizes, sizes
        )
        ends = np.cumsum(self.lengths) - 1
        line_stops = stops[ends] if len(stops) else stops
        return Segmented.of(flat[at], np.diff(line_stops, prepend=0), self.counts)


def _encoder(
    pieces: Sequence[bytes], pairs: Sequence[tuple[int, int]]
) -> Callable[[Sequence[str]], list[list[int]]]:
    """The library's own merging of whole texts, which is that of the final tokenizer."""
    from tokenizers import Tokenizer, pre_tokenizers

    built = Tokenizer(_model(pieces, pairs, {}))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in built.encode_batch_fast(list(texts), add_special_tokens=False)]

    return encode


def _model(pieces: Sequence[bytes], pairs: Sequence[tuple[int, int]], symbols: dict[str, int]) -> Any:
    from tokenizers import models

    names = [spelled(piece) for piece in pieces]
    vocabulary = symbols | {name: len(symbols) + number for number, name in enumerate(names)}
    return models.BPE(vocab=vocabulary, merges=[(names[left], names[right]) for left, right in pairs])


def tokenizer_json(
    merges: Merges, *, symbols: Sequence[str], whole: Sequence[str] = (), normalization: str, pattern: str
) -> bytes:
    """The file of the library tokenizers: the symbols first, which no text becomes; then those of `whole`, which texts
    do become; then the pieces. The first symbols are padding, unknown, start and end, further ones tags; a space behind
    a tag belongs to it. `pattern` is WORDS or CHUNKS, `normalization` `identity` or a Unicode form."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers

    named = {symbol: number for number, symbol in enumerate([*symbols, *whole])}
    built = Tokenizer(_model(merges.pieces, merges.pairs, named))
    if (form := normalizer(normalization)) is not None:
        built.normalizer = form
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens(
        [
            AddedToken(each, special=True, normalized=False, rstrip=number > NUM_SPECIAL)
            for number, each in enumerate(symbols, start=1)
        ]
    )
    built.add_tokens([AddedToken(each, special=False, normalized=False) for each in whole])
    return built.to_str().encode()


def framed(content: bytes, *, symbol: str, behind: bool) -> bytes:
    """A tokenizer whose users get a symbol `behind` each text, or before it where they ask for special tokens, as
    trained: readers of lines have an end, what goes on from a text has a start."""
    from tokenizers import Tokenizer, processors

    built = Tokenizer.from_str(content.decode())
    one, two = (f"$A {symbol}", f"$B {symbol}") if behind else (f"{symbol} $A", f"{symbol} $B")
    built.post_processor = processors.TemplateProcessing(
        single=one, pair=f"{one} {two}", special_tokens=[(symbol, built.token_to_id(symbol))]
    )
    return built.to_str().encode()


def normalizer(normalization: str) -> Any:
    """The library's normalizer of a name, None for `identity`."""
    from tokenizers import normalizers

    forms = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}
    return forms[normalization]() if normalization in forms else None


@cache
def letters() -> tuple[str, ...]:
    """The character by which byte-level vocabularies write each byte: itself where it can be seen, else one from 256
    on. Source: GPT-2, `bytes_to_unicode`."""
    seen = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    hidden = count(NUM_BYTES)
    return tuple(chr(byte) if byte in seen else chr(next(hidden)) for byte in range(NUM_BYTES))


def spelled(piece: bytes) -> str:
    """A piece as vocabularies write it, such as `Ġthe`."""
    known = letters()
    return "".join([known[byte] for byte in piece])


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern with the classes of letters (`\\p{L}`) and numbers (`\\p{N}`), which `re` does not know by name."""
    for kind in ("L", "N"):
        # Outside of brackets the class gets its own.
        pattern = re.sub(
            rf"(\[[^\]]*)?\\p{{{kind}}}",
            lambda found, kind=kind: (found[1] + _class(kind)) if found[1] else f"[{_class(kind)}]",
            pattern,
        )
    return re.compile(pattern)


@cache
def _class(kind: str) -> str:
    """The ranges of a Unicode category, for the inside of brackets."""
    return "".join(_ranges(kind))


def _ranges(kind: str) -> Iterator[str]:
    every = (code for code in range(0x110000) if unicodedata.category(chr(code))[0] == kind)
    for _, run in groupby(enumerate(every), lambda each: each[1] - each[0]):
        codes = [code for _, code in run]
        yield f"\\U{codes[0]:08x}-\\U{codes[-1]:08x}"
