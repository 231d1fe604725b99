"""What `trimtab data clean` found, as plain records (`dataclasses.asdict` makes JSON of them) and as text."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from trimtab.data.inspection_report import Reason, passed_over_lines
from trimtab.data.transforms.apply import EMPTY_SOURCE, EMPTY_TARGET

UNREADABLE = "unreadable"
"""The reason for which a line is dropped that is no UTF-8, no JSON or has other columns; training would stop there."""
_PLAIN = re.compile(r"(?!(?i:true|false|null|yes|no|on|off|y|n)$)[A-Za-z/][\w./@+-]*")
"""Text that YAML reads as text without quotes."""


@dataclass(frozen=True, slots=True)
class CleanedCorpus:
    """One corpus."""

    name: str
    pairs: int
    kept: int
    dropped: dict[str, Reason]
    """By reason, in the order in which a pair meets them; those too that dropped nothing."""
    train_on: dict[str, Any]
    """The keys of `data.train` that read the kept pairs, with the corpus's own settings such as its tags; empty where
    they were not written."""
    passed_over: dict[str, int] = field(default_factory=dict)
    """Units of its file that are no pairs, such as those without a translation, by reason."""


@dataclass(frozen=True, slots=True)
class CleanReport:
    """All corpora of a recipe."""

    corpora: tuple[CleanedCorpus, ...]
    out: str | None
    """The folder that was written, or None."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What nobody wants to train on, a line each."""
        return tuple(
            f"{corpus.name}: nothing is kept: every pair is dropped"
            for corpus in self.corpora
            if not corpus.kept
        )


def render_clean(report: CleanReport) -> str:
    """The report as plain text, one paragraph a corpus."""
    parts = ["\n".join(_corpus(corpus)) for corpus in report.corpora]
    if len(report.corpora) > 1:
        pairs, kept = (sum(getattr(each, name) for each in report.corpora) for name in ("pairs", "kept"))
        parts.append(f"total: {pairs:,} pairs, {kept:,} kept ({_share(kept, pairs)})")
    if all({UNREADABLE, EMPTY_SOURCE, EMPTY_TARGET}.issuperset(each.dropped) for each in report.corpora):
        parts.append("no filters in `data.transforms`, so only pairs with an empty side are dropped")
    if report.out is not None:
        lines = [f"      - {_flow(corpus.train_on)}" for corpus in report.corpora if corpus.train_on]
        tables = "dropped/REASON.tsv" if len(report.corpora) == 1 else "CORPUS/dropped/REASON.tsv"
        head = f"written to {report.out}, what was dropped to {tables} there; to train on what is kept:"
        parts.append("\n".join([head, "  data:", "    train:", *lines]))
    if report.problems:
        parts.append("\n".join(["problems", *(f"  {each}" for each in report.problems)]))
    return "\n\n".join(parts)


def _corpus(corpus: CleanedCorpus) -> list[str]:
    pairs = f"{corpus.pairs:,} pair{'s' * (corpus.pairs != 1)}"
    lines = [f"{corpus.name}: {pairs}, {corpus.kept:,} kept ({_share(corpus.kept, corpus.pairs)})"]
    lines += passed_over_lines(corpus.passed_over)
    for name, reason in corpus.dropped.items():
        lines.append(f"  dropped, {name}: {reason.count:,} ({_share(reason.count, corpus.pairs)})")
        lines.extend(f"    line {each.line}: {each.source}  |  {each.target}" for each in reason.examples)
    return lines


def _share(count: int, total: int) -> str:
    return f"{count / max(1, total):.2%}"


def _flow(settings: dict[str, Any]) -> str:
    """A mapping in one line of YAML."""
    return "{" + ", ".join(f"{key}: {_scalar(value)}" for key, value in settings.items()) + "}"


def _scalar(value: Any) -> str:
    """The value in YAML; all that is no plain word is written as JSON, which is YAML too."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value)
    return value if plain else json.dumps(value, ensure_ascii=False)
