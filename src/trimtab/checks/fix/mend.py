"""Rounds of fixing: one finding at a time, each edit held against what it should have done, or left out."""

from collections import Counter
from collections.abc import Callable, Iterable

from trimtab.checks.document import Document
from trimtab.checks.fix.apply import applied, expected, meaning
from trimtab.checks.fix.tree import CannotMend, same
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis
from trimtab.errors import InputError

MOST_ROUNDS = 200


@record
class Seen:
    """A text as the checks see it."""

    document: Document
    diagnoses: tuple[Diagnosis, ...]


Look = Callable[[str], Seen]
"""Reads and checks a text; raises InputError for what can't be read."""


@record(kw_only=True)
class Mended:
    """What became of a file."""

    text: str
    done: tuple[Diagnosis, ...]
    left: tuple[tuple[Diagnosis, str], ...]
    """Findings whose edits would not have done what they should, and why."""


def mend(text: str, look: Look, *, changes_training: bool = False) -> Mended:
    """Fixes what has edits. Two findings that want the same key follow one another: the second is asked again."""
    done: list[Diagnosis] = []
    left: dict[tuple[str, str, str], tuple[Diagnosis, str]] = {}
    seen = look(text)
    for _ in range(MOST_ROUNDS):
        diagnosis = _next(seen.diagnoses, changes_training, left)
        if diagnosis is None:
            break
        if _identity(diagnosis) in map(_identity, done):
            left[_identity(diagnosis)] = diagnosis, "it came back after the fix"
            continue
        try:
            text, seen = _mended(text, seen, diagnosis, look)
            done.append(diagnosis)
        except CannotMend as reason:
            left[_identity(diagnosis)] = diagnosis, str(reason)
    return Mended(text=text, done=tuple(done), left=tuple(left.values()))


def _mended(text: str, seen: Seen, diagnosis: Diagnosis, look: Look) -> tuple[str, Seen]:
    before = seen
    for edit in diagnosis.edits:
        should = expected(seen.document, edit, diagnosis.place)
        text = applied(text, seen.document, edit, diagnosis.place)
        try:
            seen = look(text)
        except InputError as error:
            raise CannotMend("the file could not be read any more") from error
        if not same(meaning(seen.document), should):
            raise CannotMend("something else would have changed too")
    if _count(seen.diagnoses, diagnosis) >= _count(before.diagnoses, diagnosis):
        raise CannotMend("the finding would still be there")
    return text, seen


def _next(
    diagnoses: Iterable[Diagnosis],
    changes_training: bool,
    left: dict[tuple[str, str, str], tuple[Diagnosis, str]],
) -> Diagnosis | None:
    allowed = ("same training", "changes training") if changes_training else ("same training",)
    wanted = (each for each in diagnoses if each.edits and each.safety in allowed)
    return next((each for each in wanted if _identity(each) not in left), None)


def _identity(diagnosis: Diagnosis) -> tuple[str, str, str]:
    return diagnosis.finding.code, diagnosis.key, diagnosis.finding.message


def _count(diagnoses: Iterable[Diagnosis], like: Diagnosis) -> int:
    return Counter((each.finding.code, each.key) for each in diagnoses)[like.finding.code, like.key]
