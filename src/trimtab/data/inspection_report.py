"""What `trimtab data inspect` found, as plain records (`dataclasses.asdict` makes JSON of them) and as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.data.checks import DataChecks
from trimtab.data.checks_report import render_checks
from trimtab.data.inspect_chats import ChatReport, render_chats
from trimtab.data.stages import StageShares, render_shares

MOST_EXAMPLES = 3
COPIES = 0.5
"""A larger share of pairs whose source is their target is a mistake; names and numbers make up a few per cent."""
_EXAMPLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Lengths of one side; all 0 where no pair is left."""

    min: int
    p5: int
    p50: int
    p95: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the pairs that pass the transforms, those included that are dropped for their length in tokens."""

    tokens: Quantiles
    """End symbol and tags included, as `max_tokens` counts them."""
    words: Quantiles
    """Between spaces."""
    unknown_rate: float
    """Share of the tokens that are the unknown symbol."""
    byte_rate: float
    """Share of the tokens that are single bytes: how a model with byte fallback spells what it does not know."""
    characters_per_token: float


@dataclass(frozen=True, slots=True)
class Example:
    """A pair to look at, each side cut short."""

    line: int
    """In the file, from 1, its header included."""
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Reason:
    """How many pairs one reason drops, with the first few of them."""

    count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """One corpus; shares and counts are of the inspected pairs."""

    name: str
    pairs: int
    inspected: int
    kept: int
    source: Side
    target: Side
    target_per_source: float
    """Target tokens to source tokens."""
    too_long: int
    """Pairs with a side longer than `max_tokens`, or, where both share it, longer together."""
    dropped: dict[str, Reason]
    """By reason, most frequent first; those too long are among them."""
    same_share: float
    """Share of pairs whose source is their target."""
    duplicate_share: float
    """Share of pairs that an earlier one repeats, both sides exactly."""
    in_one_language: bool = False
    """Whether one file is both sides, on purpose."""
    both_directions: bool = False
    """Whether the corpus is read from target to source too, on the same lines."""
    passed_over: dict[str, int] = field(default_factory=dict)
    """Units of its file that are no pairs, such as those without a translation, by reason."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Sources of a validation set that are in a training corpus too, character by character."""

    valid: str
    train: str
    count: int
    share: float
    """Of the inspected lines of the validation set."""


@dataclass(frozen=True, slots=True)
class Report:
    """All corpora of a recipe."""

    max_tokens: int
    train: tuple[CorpusReport, ...]
    valid: tuple[CorpusReport, ...]
    """Filters are not applied to these, as in training."""
    overlap: tuple[Overlap, ...]
    checks: DataChecks | None = None
    """What the whole corpora were checked for."""
    stages: tuple[StageShares, ...] = ()
    """How the corpora are mixed, in each part of the run."""
    one_row: bool = False
    """Whether source and target share `max_tokens`."""
    chats: tuple[ChatReport, ...] = ()
    """Corpora of conversations, of which the answers count."""

    def __repr__(self) -> str:
        train = ", ".join(f"{each.name}: {each.kept} of {each.inspected} pairs kept" for each in self.train)
        return f"Report({train})"

    @property
    def problems(self) -> tuple[str, ...]:
        """What nobody wants to train on, a line each."""
        copies = [
            f"{corpus.name}: source is target in {corpus.same_share:.1%} of its pairs: the model learns to copy"
            for corpus in (*self.train, *self.valid)
            if corpus.same_share > COPIES and not corpus.in_one_language
        ]
        what = "pair" if self.train else "conversation"
        nothing = [f"nothing is left to train on: every {what} is dropped"] if self.nothing_left else []
        return (*copies, *nothing)

    @property
    def nothing_left(self) -> bool:
        """Whether every pair that was looked at is dropped."""
        return not any(corpus.kept for corpus in self.train) and not any(each.answers for each in self.chats)


def example(line: int, source: str, target: str) -> Example:
    """A pair with its line in the file, made fit to be shown: control characters escaped, long text cut."""
    return Example(line, _shown(source), _shown(target))


def render(report: Report) -> str:
    """The report as plain text, one paragraph a corpus."""
    shown = {"max_tokens": report.max_tokens, "one_row": report.one_row}
    parts = [_corpus(corpus, "train", **shown) for corpus in report.train]
    parts += [_corpus(corpus, "valid", **shown) for corpus in report.valid]
    if report.chats:
        parts.append(render_chats(report.chats))
    if report.overlap:
        lines = [
            f"  {each.valid} in {each.train}: {each.count:,} sources ({each.share:.2%})"
            for each in report.overlap
        ]
        parts.append("\n".join(["overlap of validation and training", *lines]))
    if report.stages and (len(report.train) > 1 or len(report.stages) > 1):
        parts.append(render_shares(report.stages))
    if report.checks is not None and report.train:
        parts.append(render_checks(report.checks))
    if report.problems:
        parts.append("\n".join(["problems", *(f"  {each}" for each in report.problems)]))
    return "\n\n".join(parts)


def _corpus(corpus: CorpusReport, role: str, *, max_tokens: int, one_row: bool) -> str:
    of = "" if corpus.inspected == corpus.pairs else f", {corpus.inspected:,} inspected"
    role += ", both directions" * corpus.both_directions
    lines = [
        f"{corpus.name} ({role}): {corpus.pairs:,} pairs{of}, {corpus.kept:,} kept",
        f"  {'':<16}{'min':>10}{'5%':>10}{'50%':>10}{'95%':>10}{'99%':>10}{'max':>10}",
        *(
            _quantiles(f"{name} {unit}", getattr(side, unit))
            for name, side in _sides(corpus)
            for unit in ("tokens", "words")
        ),
    ]
    for name, side in _sides(corpus):
        lines.append(
            f"  {name}: {side.characters_per_token:.2f} characters a token, {side.unknown_rate:.3%} unknown, "
            f"{side.byte_rate:.3%} spelled in bytes"
        )
    lines.append(
        f"  {corpus.target_per_source:.2f} target tokens for each source token; "
        f"source is target in {corpus.same_share:.2%}; {corpus.duplicate_share:.2%} are exact duplicates; "
        f"{corpus.too_long:,} longer than {max_tokens} tokens{' together' * one_row}"
    )
    lines += passed_over_lines(corpus.passed_over)
    for reason, dropped in corpus.dropped.items():
        lines.append(f"  dropped, {reason}: {dropped.count:,}")
        lines.extend(f"    line {each.line}: {each.source}  |  {each.target}" for each in dropped.examples)
    return "\n".join(lines)


def passed_over_lines(counts: Mapping[str, int]) -> list[str]:
    """A line for each reason for which units of a file are no pairs."""
    return [f"  passed over, {reason}: {count:,} units" for reason, count in counts.items()]


def _sides(corpus: CorpusReport) -> tuple[tuple[str, Side], ...]:
    return ("source", corpus.source), ("target", corpus.target)


def _quantiles(name: str, of: Quantiles) -> str:
    return f"  {name:<16}" + "".join(
        f" {each:>9,}" for each in (of.min, of.p5, of.p50, of.p95, of.p99, of.max)
    )


def _shown(text: str) -> str:
    text = text[:_EXAMPLE_CHARACTERS]
    escaped = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return escaped[:_EXAMPLE_CHARACTERS]
