"""Which findings are told in spite of silences, and what is wrong with the silences."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from trimtab.checks.nearest import nearest
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Rule
from trimtab.checks.silence.pages import NOT_UNDERSTOOD, OF_NOTHING, OF_UNKNOWN_RULE, WITHOUT_REASON
from trimtab.checks.silence.silence import Silence


@dataclass(frozen=True, slots=True)
class Judged:
    """What is left of the findings of a file."""

    kept: tuple[Diagnosis, ...]
    silenced: tuple[Diagnosis, ...]
    used: frozenset[Silence]


def apply_silences(
    diagnoses: Iterable[Diagnosis], silences: Iterable[Silence], rules: Mapping[str, Rule]
) -> Judged:
    """Parts findings by silences that have a reason; `rules` are all rules by code, name and alias in lower case."""
    kept: list[Diagnosis] = []
    silenced: list[Diagnosis] = []
    used: set[Silence] = set()
    by_code = [(silence, _codes(silence, rules)) for silence in silences if silence.because]
    for diagnosis in diagnoses:
        covering = {silence for silence, codes in by_code if _covers(silence, codes, diagnosis)}
        (silenced if covering else kept).append(diagnosis)
        used |= covering
    return Judged(tuple(kept), tuple(silenced), frozenset(used))


def faults_of(silence: Silence, rules: Mapping[str, Rule]) -> list[Diagnosis]:
    """What is wrong with a silence as it is written: no reason, or a rule that nobody knows."""
    faults: list[Diagnosis] = []
    if not silence.because:
        faults.append(WITHOUT_REASON.at(silence.place, rule=", ".join(silence.rules)))
    for name in silence.rules:
        if name.lower() not in rules:
            near = nearest(name.lower(), rules)
            suggestion = f"; did you mean `{rules[near].name}`?" if near else ""
            faults.append(OF_UNKNOWN_RULE.at(silence.place, rule=name, nearest=suggestion))
    return faults


def not_understood(place: Place, text: str) -> Diagnosis:
    """The finding about a comment that addresses trimtab in vain."""
    return NOT_UNDERSTOOD.at(place, text=text)


def idle(silence: Silence, rules: Mapping[str, Rule], has_run: Callable[[Rule], bool]) -> list[Diagnosis]:
    """The finding about a silence that was not used; none where a rule of it did not run."""
    known = [rules[name.lower()] for name in silence.rules if name.lower() in rules]
    if not silence.because or not silence.is_certain or not known or not all(map(has_run, known)):
        return []
    return [OF_NOTHING.at(silence.place, rule=", ".join(silence.rules))]


def _codes(silence: Silence, rules: Mapping[str, Rule]) -> frozenset[str]:
    return frozenset(rules[name.lower()].code for name in silence.rules if name.lower() in rules)


def _covers(silence: Silence, codes: frozenset[str], diagnosis: Diagnosis) -> bool:
    return diagnosis.finding.code in codes and silence.line in (0, diagnosis.place.line)
