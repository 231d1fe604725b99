"""Which findings remain after suppressions, and what is wrong with the suppressions."""

from collections.abc import Callable, Iterable, Mapping

from trimtab.checks.nearest import nearest
from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis, Rule
from trimtab.checks.silence.pages import NOT_UNDERSTOOD, OF_NOTHING, OF_UNKNOWN_RULE, WITHOUT_REASON
from trimtab.checks.silence.silence import Silence

Named = Mapping[str, tuple[Rule, ...]]
"""All rules by code, name and alias in lower case; an alias may be that of several."""


@record
class Judged:
    """What is left of the findings of a file."""

    kept: tuple[Diagnosis, ...]
    silenced: tuple[Diagnosis, ...]
    used: frozenset[Silence]


def apply_silences(diagnoses: Iterable[Diagnosis], silences: Iterable[Silence], rules: Named) -> Judged:
    """Parts findings by suppressions that have a reason."""
    kept: list[Diagnosis] = []
    silenced: list[Diagnosis] = []
    meant: dict[tuple[str, int], list[Silence]] = {}
    for silence in silences:
        for code in _codes(silence, rules) if silence.because else ():
            meant.setdefault((code, silence.line), []).append(silence)
    used: set[tuple[str, int]] = set()
    for diagnosis in diagnoses:
        marks = [(diagnosis.finding.code, line) for line in (0, diagnosis.place.line)]
        covering = [mark for mark in marks if mark in meant]
        (silenced if covering else kept).append(diagnosis)
        used.update(covering)
    return Judged(tuple(kept), tuple(silenced), frozenset(each for mark in used for each in meant[mark]))


def faults_of(silence: Silence, rules: Named) -> list[Diagnosis]:
    """What is wrong with a suppression as it is written: no reason, or a rule that nobody knows."""
    faults: list[Diagnosis] = []
    if not silence.because:
        faults.append(WITHOUT_REASON.at(silence.place, rule=", ".join(silence.rules)))
    for name in silence.rules:
        if name.lower() not in rules:
            near = nearest(name.lower(), rules)
            suggestion = f"; did you mean `{rules[near][0].name}`?" if near else ""
            faults.append(OF_UNKNOWN_RULE.at(silence.place, rule=name, nearest=suggestion))
    return faults


def not_understood(place: Place, text: str) -> Diagnosis:
    """The finding about a comment that addresses trimtab in vain."""
    return NOT_UNDERSTOOD.at(place, text=text)


def idle(silence: Silence, rules: Named, has_run: Callable[[Rule], bool]) -> list[Diagnosis]:
    """The finding about a suppression that was not used; none where a rule of it did not run."""
    known = [rule for name in silence.rules for rule in rules.get(name.lower(), ())]
    if not silence.because or not silence.is_certain or not known or not all(map(has_run, known)):
        return []
    return [OF_NOTHING.at(silence.place, rule=", ".join(silence.rules))]


def _codes(silence: Silence, rules: Named) -> frozenset[str]:
    return frozenset(rule.code for name in silence.rules for rule in rules.get(name.lower(), ()))
