"""What changed in a vocabulary, what it saves and what it costs: for people, for programs, and as the card of the
result."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab import __version__
from trimtab.errors import one_line
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.gate import BOUND, GateReport
from trimtab.vocabulary.model import Side, Size
from trimtab.vocabulary.vocabulary import Text, Vocabulary

CARD, FIGURES = "README.md", "vocabulary.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideReport:
    """One vocabulary before and after."""

    algorithm: str
    before: int
    after: int
    dropped: int
    added: int
    unreachable: int
    """New pieces that were asked for and are not there: the tokenizer would not have made them of the text, or the text
    held no more."""
    unspelled: int
    """New pieces that the old vocabulary could not spell, which start as the mean of all rows."""

    @classmethod
    def of(
        cls, old: Vocabulary, new: Vocabulary, change: VocabularyChange, *, asked: int | None
    ) -> "SideReport":
        """Of a change."""
        added = len(change.added)
        return cls(
            algorithm=old.algorithm,
            before=old.num_ids,
            after=new.num_ids,
            dropped=old.num_ids - len(change.kept),
            added=added,
            unreachable=0 if asked is None else asked - added,
            unspelled=change.unspelled,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusLengths:
    """Tokens of a text before and after."""

    name: str
    side: Side
    lines: int
    words: int
    """Divided by spaces."""
    before: int
    after: int

    @classmethod
    def of(cls, text: Text, side: Side, old: Vocabulary, new: Vocabulary) -> "CorpusLengths":
        """Of one text."""
        before, after = (sum(map(len, each.encode(text.lines, reader=text.reader))) for each in (old, new))
        words = sum(len(line.split()) for line in text.lines)
        return cls(name=text.name, side=side, lines=len(text.lines), words=words, before=before, after=after)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with tokens per word and per line."""
        per = {
            f"tokens_per_{unit}_{when}": round(tokens / max(count, 1), 4)
            for unit, count in (("word", self.words), ("line", self.lines))
            for when, tokens in (("before", self.before), ("after", self.after))
        }
        return {**asdict(self), **per}

    def render(self) -> str:
        """A line for people."""
        words, lines = max(self.words, 1), max(self.lines, 1)
        return (
            f"{one_line(self.name)}: {self.before / words:.2f} -> {self.after / words:.2f} tokens a word, "
            f"{self.before / lines:.1f} -> {self.after / lines:.1f} a line ({self.lines:,} lines)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyReport:
    """A model whose vocabulary was changed."""

    action: str
    out: str
    model: str
    init: str | None
    sides: dict[Side, SideReport]
    corpora: tuple[CorpusLengths, ...]
    before: Size
    after: Size
    gate: GateReport
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "action": self.action,
            "out": self.out,
            "model": self.model,
            "init": self.init,
            "vocabularies": {side: asdict(each) for side, each in self.sides.items()},
            "corpora": [each.to_dict() for each in self.corpora],
            "size": {"before": asdict(self.before), "after": asdict(self.after)},
            "gate": self.gate.to_dict(),
            "notes": [*self.notes],
        }

    def render(self) -> str:
        """Lines for people."""
        return "\n".join([f"written: {self.out}", *(f"  {each}" for each in self._lines())])

    def card(self) -> str:
        """The text of README.md."""
        verb = "fewer pieces" if self.action == "trim" else "new pieces"
        return (
            "\n\n".join(
                [
                    f"# {one_line(Path(self.out).name)}",
                    f"`{one_line(self.model)}` with {verb}, made by trimtab {__version__} (`trimtab vocabulary "
                    f"{self.action}`).",
                    "## Vocabulary\n\n" + "\n".join(f"- {each}" for each in self._lines()),
                ]
            )
            + "\n"
        )

    def _lines(self) -> list[str]:
        lines: list[str] = []
        for side, each in self.sides.items():
            name = "" if side == "shared" else f" of the {side}"
            told = f"{each.algorithm} vocabulary{name}: {each.before:,} -> {each.after:,} pieces"
            told += f", {each.dropped:,} dropped" if each.dropped else ""
            told += f", {each.added:,} added" if each.added else ""
            if each.unreachable:
                told += (
                    f" ({each.unreachable:,} fewer than asked for: the text has no more that it would reach)"
                )
            lines.append(told)
            if each.unspelled:
                lines.append(
                    f"{each.unspelled:,} new pieces could not be spelled before and start as the mean of all rows"
                )
        lines += [each.render() for each in self.corpora]
        old, new = self.before, self.after
        lines.append(
            f"size: {old.parameters / 1e6:.2f}M -> {new.parameters / 1e6:.2f}M parameters, "
            f"{old.weight_bytes / 1e6:.1f} -> {new.weight_bytes / 1e6:.1f} MB"
        )
        lines.append(
            f"gate: {self.gate.same_split:,} of {self.gate.lines:,} lines split as before; logits of kept pieces "
            f"differ by at most {self.gate.worst:.1e} after {self.gate.positions:,} tokens (bound {BOUND:.0e})"
        )
        if self.action == "extend":
            lines.append("train it on before use: the new pieces have never been trained")
        return [*lines, *self.notes]


def write_card(report: VocabularyReport, folder: Path) -> None:
    """README.md, after the text that is there, and vocabulary.json."""
    card = folder / CARD
    text = report.card()
    if card.is_file():
        text = card.read_text(encoding="utf-8", errors="replace").rstrip() + "\n\n" + text
    card.write_text(text, encoding="utf-8")
    figures = json.dumps(report.to_dict(), ensure_ascii=False, indent=1) + "\n"
    (folder / FIGURES).write_text(figures, encoding="utf-8")
