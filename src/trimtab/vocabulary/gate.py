"""The proof that a changed model is the old one wherever both have an answer, from the files that were written.

Comparing logits alone is not enough: a broken tie and a piece too many in the tokenizer change none. So settings,
tokenizer, rows and ties are compared as well.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from trimtab.errors import RunFailed
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.model import EditableModel, Side
from trimtab.vocabulary.vocabulary import Text, Vocabulary

BOUND = 1e-5
"""Largest difference of a logit, as a share of the largest logit, or of 1: in float32 a sum of numbers of this size is
not known more exactly, and products of matrices of other sizes add in another order."""
LINES, TOKENS = 24, 64
"""Lines whose logits are compared, and the most tokens of each."""
SPLIT = 2000
"""Lines that both tokenizers split, evenly from each text."""
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """What was compared, and what was wrong; nothing in a model that is written."""

    lines: int
    """Lines that both tokenizers split."""
    same_split: int
    """Of these, how many are split into the same pieces, none of which is dropped."""
    positions: int
    """Tokens after which logits were compared."""
    worst: float
    """Largest difference of a logit of a kept piece, as a share of the largest logit or of 1."""
    faults: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "bound": BOUND}


def check_changed(
    old: EditableModel,
    new: EditableModel,
    changes: Mapping[Side, VocabularyChange],
    texts: Mapping[Side, Sequence[Text]],
) -> GateReport:
    """Compares a changed model with the one that it was made of, on real text."""
    faults = [*settings_differ(old, new, changes)]
    lines = same = 0
    for side, change in changes.items():
        here, there = old.vocabularies[side], new.vocabularies[side]
        faults += _pieces_differ(here, there, change)
        split, kept, wrong = splits_differ(here, there, change, texts[side])
        lines, same = lines + split, same + kept
        faults += wrong
        sample = [line for text in texts[side] for line in evenly(text.lines, LINES)]
        if otherwise := old.read_otherwise(new, sample, change):
            faults.append(_told("tokens: transformers splits lines otherwise", otherwise))
    positions, worst = 0, 0.0
    if not any(each.startswith(("rows", "pieces")) for each in faults):
        positions, worst = logits_differ(old, new, changes, texts)
        # NaN is no number below the bound.
        if not worst <= BOUND:
            faults.append(f"logits: those of kept pieces differ by {worst:.1e} (bound {BOUND:.0e})")
    return GateReport(lines=lines, same_split=same, positions=positions, worst=worst, faults=tuple(faults))


def require_passed(report: GateReport) -> None:
    """RunFailed, with everything that differs, where something does."""
    if report.faults:
        raise RunFailed(
            "the changed model differs from the old one where both have an answer; nothing was written\n"
            + "\n".join(f"  differs {each}" for each in report.faults)
            + "\n  fix     please report this, with the kind of model; the old model is untouched"
        )


def settings_differ(
    old: EditableModel, new: EditableModel, changes: Mapping[Side, VocabularyChange]
) -> Iterator[str]:
    """Ids in settings that no longer mean the same piece, tensors without a row for each id, and ties."""
    before, after = old.facts(), new.facts()
    shared = len(changes) == 1 and len(old.vocabularies) == 1
    for place, id in before.ids.items():
        side = next(iter(changes)) if shared else place.partition(":")[0]
        if side not in changes:
            continue
        wanted = changes[side].new_ids.get(id, id)
        found = after.ids.get(place)
        gone = found is None and changes[side].new_ids.get(id) is None
        if found != wanted and not gone:
            yield f"symbols: {place} is {found} in place of {wanted}"
    for name, rows in before.rows.items():
        size = _size_of(name, old, changes)
        if size is not None and name not in after.rows:
            yield f"rows: {name} is missing"
        elif size is not None and after.rows[name] != size:
            yield f"rows: {name} has {after.rows[name]} in place of {size}"
        elif size is None and after.rows.get(name) != rows:
            yield f"rows: {name} has {after.rows.get(name)} in place of {rows}"
    if before.ties != after.ties:
        lost = [" and ".join(sorted(each)) for each in before.ties ^ after.ties]
        yield f"tie: not tied as before: {'; '.join(sorted(lost)[:NAMED])}"


def _size_of(name: str, old: EditableModel, changes: Mapping[Side, VocabularyChange]) -> int | None:
    """Ids of the vocabulary that a tensor or a setting has a row for; None where it does not change."""
    if len(old.vocabularies) == 1:
        return len(next(iter(changes.values())).origins)
    side = "source" if name.startswith("source") or name.endswith("source") else "target"
    return len(changes[side].origins) if side in changes else None


def _pieces_differ(old: Vocabulary, new: Vocabulary, change: VocabularyChange) -> Iterator[str]:
    if new.num_ids != len(change.origins):
        yield f"pieces: the tokenizer has {new.num_ids} in place of {len(change.origins)}"
    if stray := sorted(new.unnumbered - old.unnumbered):
        yield _told(f"pieces: the tokenizer makes {len(stray)} that have no id", stray)
    wrong = [f"{old.piece(one)!r}" for one, other in change.kept if new.piece(other) != old.piece(one)]
    if wrong:
        yield _told(f"pieces: {len(wrong)} have another id than their row", wrong)


def splits_differ(
    old: Vocabulary, new: Vocabulary, change: VocabularyChange, texts: Sequence[Text]
) -> tuple[int, int, list[str]]:
    """Lines that were split, lines that are split as before, and what is wrong: a line of kept pieces that is split
    otherwise, or one that does not come back as before."""
    total = same = 0
    otherwise: list[str] = []
    written: list[str] = []
    added = {*change.added}
    lossless = not added and all(old_id in change.new_ids for old_id in range(old.num_ids))
    for text in texts:
        lines = evenly(text.lines, SPLIT // max(len(texts), 1))
        before, after = old.encode(lines, reader=text.reader), new.encode(lines, reader=text.reader)
        backs = zip(
            old.decode(before, reader=text.reader), new.decode(after, reader=text.reader), strict=True
        )
        for line, row, found, (back, now) in zip(lines, before, after, backs, strict=True):
            total += 1
            wanted = change.map(row)
            if wanted is not None and found == wanted:
                same += 1
            elif wanted is not None and not added & {*found}:
                otherwise.append(line)
            # A new piece may stand for what was unknown, and what is dropped may be spelled otherwise or not at all.
            if back != now and (wanted is not None or lossless) and not _better(back, now, line):
                written.append(line)
    faults = (
        [_told(f"tokens: {len(otherwise)} lines of kept pieces are split otherwise", otherwise)]
        if otherwise
        else []
    )
    if written:
        faults.append(_told(f"text: {len(written)} lines do not come back as before", written))
    return total, same, faults


def _better(before: str, after: str, line: str) -> bool:
    """Whether a text comes back with more of its characters than before, each as often as it occurs: a new letter is
    one, and so are the others of a word that was unknown as a whole for the lack of it (WordPiece)."""
    wanted = Counter(line.casefold())
    found = [(wanted & Counter(each.casefold())).total() for each in (before, after)]
    return found[1] > found[0]


def logits_differ(
    old: EditableModel,
    new: EditableModel,
    changes: Mapping[Side, VocabularyChange],
    texts: Mapping[Side, Sequence[Text]],
) -> tuple[int, float]:
    """Positions that were compared, and the largest difference of a kept piece's logit."""
    before: dict[Side, list[list[int]]] = {}
    after: dict[Side, list[list[int]]] = {}
    for side, vocabulary in old.vocabularies.items():
        rows = _rows(vocabulary, texts.get(side) or next(iter(texts.values())), changes.get(side))
        before[side] = rows
        change = changes.get(side)
        after[side] = [[change.new_ids[id] for id in row] for row in rows] if change else rows
    least = min(map(len, before.values()))
    one, two = (
        model.logits({side: rows[:least] for side, rows in given.items()})
        for model, given in ((old, before), (new, after))
    )
    change = changes.get(old.writes) if old.writes is not None else None
    worst, positions = 0.0, 0
    for here, there in zip(one, two, strict=True):
        positions += len(here)
        found = _difference(here, there, change)
        worst = found if not found <= worst else worst
    return positions, worst


def _difference(old: Tensor, new: Tensor, change: VocabularyChange | None) -> float:
    if change is not None:
        pairs = change.kept
        old, new = old[:, [each for each, _ in pairs]], new[:, [each for _, each in pairs]]
    return float((old - new).abs().max() / old.abs().max().clamp(min=1.0))


def _rows(vocabulary: Vocabulary, texts: Sequence[Text], change: VocabularyChange | None) -> list[list[int]]:
    """Rows of kept ids from a few lines of each text."""
    rows: list[list[int]] = []
    for text in texts:
        lines = [line for line in evenly(text.lines, 4 * LINES // len(texts) + 1) if line.strip()]
        for row in vocabulary.encode(lines, reader=text.reader):
            kept = [id for id in row if change is None or id in change.new_ids][:TOKENS]
            if kept:
                rows.append(kept)
    return evenly(rows, LINES)


def evenly(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, from all over."""
    step = max(1, -(-len(items) // max(most, 1)))
    return [*items[::step]]


def _told(what: str, examples: Sequence[str]) -> str:
    shown = ", ".join(repr(each[:60]) for each in examples[:NAMED])
    return f"{what}: {shown}"
