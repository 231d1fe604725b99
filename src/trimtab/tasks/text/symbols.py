"""Whether ids mean one thing each, and whether text that became ids becomes text again."""

import unicodedata
from collections.abc import Iterator, Sequence

from trimtab.data.factored_pieces import FactoredPieces
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.finding import Finding
from trimtab.run_findings.data import SYMBOLS_CLASH, TEXT_CHANGES_IN_THE_TOKENIZER
from trimtab.tasks.examples import Checked

LINES = 100
"""Lines of each side, or passages of text, that make the round trip."""
LOST_WARNING = 0.05
"""Share of them that may come back with other letters: rare signs that the tokenizer writes in another way."""


def symbols_are_apart(parts: Checked) -> Iterator[Finding]:
    """Padding, unknown, start and end are four ids of the vocabulary, and the examples have no id outside of it."""
    for side in parts.examples.sides():
        tokenizer, rows = side.tokenizer, side.rows
        names = ("pad", "unknown", "start", "end")
        ids = {name: getattr(tokenizer, name) for name in names}
        wrong = [f"{name} is {id}" for name, id in ids.items() if not 0 <= id < tokenizer.num_ids]
        # Pretrained vocabularies often have one id for two: batches mask by length and never by id.
        if len(set(ids.values())) < len(ids) and not isinstance(tokenizer, FastTokenizer | SideTokenizer):
            wrong.append(", ".join(f"{name} is {id}" for name, id in ids.items()))
        outside = int(((rows.values < 0) | (rows.values >= tokenizer.num_ids)).sum())
        if outside:
            wrong.append(f"{outside:,} tokens of the first examples have an id outside")
        if wrong:
            yield SYMBOLS_CLASH.found(
                f"the {side.name}'s vocabulary of {tokenizer.num_ids:,} ids: {'; '.join(wrong)}"
            )


def text_comes_back(parts: Checked) -> Iterator[Finding]:
    """The letters and digits of some lines after a way to ids and back; lines with unknown tokens are D201's."""
    corpus = parts.datasets.corpora[0]
    pairs = [corpus.pair(number) for number in range(min(LINES, len(corpus)))]
    for side in parts.examples.sides():
        kept, lost = changed(side.tokenizer, [pair[side.in_pair] for pair in pairs])
        share = len(lost) / max(1, kept)
        if share > LOST_WARNING:
            line, back = lost[0]
            yield TEXT_CHANGES_IN_THE_TOKENIZER.found(
                f"{share:.0%} of {kept} {side.name} lines come back from the tokenizer with different letters "
                f"(bound {LOST_WARNING:.0%}): {line[:40]!r} as {back[:40]!r}"
            )


def changed(tokenizer: AnyTokenizer, lines: Sequence[str]) -> tuple[int, list[tuple[str, str]]]:
    """How many lines have no unknown token, and those of them that come back different, each with what came."""
    known = [
        (line, row)
        for line, row in zip(lines, tokenizer.encode(lines), strict=True)
        if tokenizer.unknown not in row
    ]
    back = tokenizer.decode([row for _, row in known])
    read = [tokenizer.text(line) if isinstance(tokenizer, FactoredPieces) else line for line, _ in known]
    return len(known), [
        (line, text) for line, text in zip(read, back, strict=True) if letters(line) != letters(text)
    ]


def letters(text: str) -> str:
    """What must survive: letters and digits in their compatible forms, whatever their case."""
    return "".join(each for each in unicodedata.normalize("NFKC", text).casefold() if each.isalnum())
