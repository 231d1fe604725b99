"""Tokenizers side by side on the same texts: how many tokens each takes, and which of its pieces no text becomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import load_tokenizer
from trimtab.data.stored_tokenizer import AnyTokenizer, load_stored
from trimtab.errors import input_error

MOST_NAMED = 8
_AT_ONCE = 1024
_BROKEN = "\ufffd"


@dataclass(frozen=True, slots=True)
class OnText:
    """One tokenizer on one text."""

    text: str
    lines: int
    tokens: int
    """End symbols are not counted."""
    tokens_per_word: float
    """Words are between spaces, which Japanese and Chinese do not write."""
    bytes_per_token: float
    """UTF-8; comparable between languages and tokenizers."""
    unknown_rate: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One tokenizer."""

    name: str
    num_ids: int
    texts: tuple[OnText, ...]
    unused: int
    """Pieces that none of the texts has."""
    unreachable: tuple[str, ...]
    """Pieces whose own text becomes other ids, so that they occur only beside certain others, or never. Single bytes
    and parts of characters have no text of their own and are left out."""


def open_tokenizer(path: Path) -> AnyTokenizer:
    """The tokenizer of a run, of a folder that `trimtab tokenizer train` wrote, or a sentencepiece model; InputError if
    it is none of these."""
    if path.is_file():
        return load_tokenizer(path)
    inner = path / "tokenizer"
    folder = inner if inner.is_dir() else path
    if (folder / "target").is_dir():
        raise input_error(
            f"{path}: has a tokenizer for each side",
            got="two tokenizers",
            allowed="one",
            fix=f"name {folder / 'source'} or {folder / 'target'}",
        )
    return load_stored(folder)


def compare_tokenizers(
    tokenizers: Mapping[str, AnyTokenizer], texts: Mapping[str, Sequence[str] | Iterable[str]]
) -> tuple[Compared, ...]:
    """Each tokenizer on each text, which is read once."""
    seen = {name: np.zeros(each.num_ids, bool) for name, each in tokenizers.items()}
    found: dict[str, list[OnText]] = {name: [] for name in tokenizers}
    for title, lines in texts.items():
        counts = {name: np.zeros(2, np.int64) for name in tokenizers}
        num_lines = num_words = num_bytes = 0
        remaining = iter(lines)
        while some := list(islice(remaining, _AT_ONCE)):
            num_lines += len(some)
            num_words += sum(len(line.split()) for line in some)
            num_bytes += sum(len(line.encode(errors="replace")) for line in some)
            for name, tokenizer in tokenizers.items():
                ids = np.array([id for row in tokenizer.encode(some) for id in row[:-1]], np.int64)
                counts[name] += len(ids), int((ids == tokenizer.unknown).sum())
                seen[name][ids] = True
        for name, (tokens, unknown) in counts.items():
            found[name].append(
                OnText(
                    text=title,
                    lines=num_lines,
                    tokens=int(tokens),
                    tokens_per_word=int(tokens) / max(1, num_words),
                    bytes_per_token=num_bytes / max(1, int(tokens)),
                    unknown_rate=int(unknown) / max(1, int(tokens)),
                )
            )
    return tuple(
        Compared(
            name=name,
            num_ids=tokenizer.num_ids,
            texts=tuple(found[name]),
            unused=int((~seen[name]).sum()),
            unreachable=unreachable(tokenizer),
        )
        for name, tokenizer in tokenizers.items()
    )


def unreachable(tokenizer: AnyTokenizer) -> tuple[str, ...]:
    """The pieces whose own text becomes other ids."""
    special = {tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end}
    ids = [
        id
        for id in range(tokenizer.num_ids)
        if id not in special and not tokenizer.is_byte[id] and tokenizer.piece(id) not in tokenizer.symbols
    ]
    if isinstance(tokenizer, FastTokenizer):
        texts = tokenizer.decode_exactly([[id] for id in ids])
        rows = tokenizer.ids(texts)
    else:
        texts = [tokenizer.piece(id).replace("▁", " ") for id in ids]
        # A model with a space before each line reads a piece without one only behind others.
        plain = [row[:-1] for row in tokenizer.encode(texts)]
        behind = [row[:-1] for row in tokenizer.encode(["|" + text for text in texts])]
        rows = [
            alone if alone == [id] else other[-1:]
            for id, alone, other in zip(ids, plain, behind, strict=True)
        ]
    return tuple(
        tokenizer.piece(id)
        for id, text, row in zip(ids, texts, rows, strict=True)
        if row != [id] and _BROKEN not in text and text.strip()
    )


def render(found: Sequence[Compared]) -> str:
    """A table for each text, and what is known of each vocabulary."""
    parts: list[str] = []
    width = max(len(each.name) for each in found)
    for number, first in enumerate(found[0].texts):
        lines = [
            f"{first.text}: {first.lines:,} lines",
            f"  {'':<{width}}{'tokens':>14}{'per word':>9}{'bytes/token':>15}{'unknown':>9}{'':>4}",
        ]
        for each in found:
            on = each.texts[number]
            change = on.tokens / max(1, first.tokens) - 1
            lines.append(
                f"  {each.name:<{width}}{on.tokens:>14,}{on.tokens_per_word:>9.2f}{on.bytes_per_token:>15.2f}"
                f"{on.unknown_rate:>9.2%}" + (f"  {change:+.1%}" if each is not found[0] else "")
            )
        parts.append("\n".join(lines))
    lines = ["vocabularies"]
    for each in found:
        named = " ".join(each.unreachable[:MOST_NAMED]) + " ..." * (len(each.unreachable) > MOST_NAMED)
        lines.append(
            f"  {each.name:<{width}}  {each.num_ids:,} ids, {each.unused:,} not in these texts, "
            f"{len(each.unreachable):,} unreachable{': ' + named if named else ''}"
        )
    parts.append("\n".join(lines))
    return "\n\n".join(parts)
