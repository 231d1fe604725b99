"""Checks of text before the first step for which no model runs: unknown tokens, dropped examples, blank lines, and what
the corpora show."""

from collections.abc import Iterator, Sequence

from trimtab.data.alignment import quick_lines
from trimtab.data.corpus import Corpus
from trimtab.data.corpus_findings import ListedPairs, corpus_findings, lines_with_zeros
from trimtab.data.formats.chat import KNOWN_ROLES
from trimtab.data.id_filter import fix_for_dropped
from trimtab.data.shared_passages import documents_in_training
from trimtab.data.tags import untagged_sets
from trimtab.data.valid_set import ValidSet
from trimtab.finding import Finding
from trimtab.run_findings.data import BLANK_VALIDATION_LINES, UNKNOWN_PIECES, UNUSUAL_ROLE
from trimtab.tasks.diagnoses import dropped_examples
from trimtab.tasks.examples import Checked
from trimtab.tasks.text.symbols import symbols_are_apart, text_comes_back

UNKNOWN_WARNING, UNKNOWN_ERROR = 0.005, 0.05
BLANK_WARNING, BLANK_ERROR = 0.02, 0.5
ROLE_LINES = 1000


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What the vocabularies, the first examples, the corpora and the validation sets show."""
    yield from example_checks(parts)
    yield from pair_checks(parts.datasets.corpora, list(parts.datasets.valid.values()))
    texts = {name: v.documents for name, v in parts.datasets.valid.items() if v.documents is not None}
    yield from lines_with_zeros([corpus for corpus in parts.datasets.corpora if corpus.has_documents])
    yield from documents_in_training(parts.datasets.corpora, texts)
    yield from unusual_roles([corpus for corpus in parts.datasets.corpora if corpus.learns_answers])
    yield from untagged_sets(parts.recipe.data)


def example_checks(parts: Checked) -> Iterator[Finding]:
    """What the vocabularies, the first examples and the references show."""
    yield from unknown_pieces(parts)
    reasons = {example.reason for example in parts.datasets.sample.dropped}
    yield from dropped_examples(
        parts, fix=fix_for_dropped(reasons, shares_length=parts.examples.kind.one_row)
    )
    yield from blank_references(parts)
    yield from symbols_are_apart(parts)
    yield from text_comes_back(parts)


def pair_checks(corpora: Sequence[Corpus], valid: Sequence[ValidSet]) -> Iterator[Finding]:
    """What corpora and validation sets of pairs in the same languages show."""
    listed = [ListedPairs(v.name, v.tags, v.sources, v.references) for v in valid]
    pairs = [corpus for corpus in corpora if not corpus.has_documents]
    yield from corpus_findings(pairs, [each for each in listed if len(each)])


def unusual_roles(corpora: Sequence[Corpus]) -> Iterator[Finding]:
    """Of the conversations that are looked at, at most `ROLE_LINES` of each corpus."""
    for corpus in corpora:
        lines = quick_lines(len(corpus), most=ROLE_LINES)
        first: dict[str, int] = {}
        for line in lines:
            for message in corpus.conversation(line).messages:
                first.setdefault(message.role, line)
        if unusual := [role for role in first if role not in KNOWN_ROLES]:
            more = f" and {len(unusual) - 5:,} more" if len(unusual) > 5 else ""
            yield UNUSUAL_ROLE.found(
                f"{corpus.name}: messages have the role {', '.join(repr(role[:40]) for role in unusual[:5])}{more}, "
                f"which is none of {', '.join(KNOWN_ROLES)}",
                where=corpus.place(first[unusual[0]]),
            )


def unknown_pieces(parts: Checked) -> Iterator[Finding]:
    """The share of tokens for which the vocabulary has no piece."""
    for side in parts.examples.sides():
        own = side.tokenizer
        if own.unknown in (own.end, own.pad, own.start):
            continue  # a vocabulary that spells everything, such as a byte-level one, has no symbol for the unknown
        share = float((side.rows.values == side.tokenizer.unknown).mean()) if side.rows.values.size else 0.0
        if share > UNKNOWN_WARNING:
            yield UNKNOWN_PIECES.found(
                f"{share:.1%} of the {side.name} tokens are unknown to the vocabulary "
                f"(bound {UNKNOWN_WARNING:.1%})",
                severity="error" if share > UNKNOWN_ERROR else "warning",
                fix=f"set {side.key}.byte_fallback: true, or train the tokenizer on this text",
            )


def blank_references(parts: Checked) -> Iterator[Finding]:
    """The share of validation pairs of which one side has no text."""
    for valid in parts.datasets.valid.values():
        pairs = zip(valid.sources, valid.references, strict=True)
        blank = sum(not source.strip() or not reference.strip() for source, reference in pairs)
        share = blank / max(1, len(valid.sources))
        if share > BLANK_WARNING:
            yield BLANK_VALIDATION_LINES.found(
                f"{blank:,} of the {len(valid.sources):,} pairs of the validation set {valid.name} are blank "
                f"on a side (bound {BLANK_WARNING:.0%})",
                severity="error" if share > BLANK_ERROR else "warning",
            )
