"""From what people see to what may be behind it: a forgiving search over symptoms, rules and what is seen in runs."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, TypeVar

from trimtab.checks.nearest import likeness
from trimtab.checks.record import record
from trimtab.checks.say.causes import SYMPTOMS, Symptom
from trimtab.checks.say.ranking import Index
from trimtab.checks.say.search_index import RuleSummary, search_index
from trimtab.checks.say.words import Words, idea, known_words, words_of
from trimtab.run_findings.catalog import ALL
from trimtab.run_findings.spec import RunFinding

T = TypeVar("T")
ENOUGH: Final = 0.5
"""A score from which a page is shown; less is only offered as a question."""
LITTLE: Final = 0.35
"""The same for a question of many words, of which no page has all."""
MANY_WORDS: Final = 4
OF_A_STATEMENT: Final = 0.9
"""What a page's score for one statement of a question counts beside that for all of it."""
MOST_STATEMENTS: Final = 4
SYMPTOM_ENOUGH: Final = 0.4
"""The same for symptoms, which have phrases only, and no body that adds to the score."""
OF_ITS_CAUSES: Final = 0.5
"""The share of a symptom's score that counts for its causes."""
OF_ITS_PAGES: Final = 0.3
"""The share that counts for the pages that have the symptom."""
MOST_LIKELIEST: Final = 5
FEW: Final = 3
"""Answers that are shown where none fits well."""
MOST_RULES: Final = 12
NEAR_THE_BEST: Final = 0.75
"""Other pages are shown if they are this near to the best of their kind."""
MISSPELT: Final = 6
"""Letters from which a word that no page has is taken for a slip of one that some page has."""
MOST_MISSPELT: Final = 4


@record
class Cause:
    """One of the causes of a symptom."""

    text: str
    symptom: Symptom


Thing = Symptom | RuleSummary | RunFinding | Cause


@record
class Answer:
    """What a search came to, the likeliest first."""

    likeliest: tuple[RuleSummary | RunFinding | Cause, ...]
    """Of all kinds the few that answer best."""
    symptoms: tuple[Symptom, ...]
    rules: tuple[RuleSummary, ...]
    seen: tuple[RunFinding, ...]
    nearest: tuple[str, ...]
    """Names of symptoms that it may have been, where nothing was found."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.likeliest or self.symptoms or self.rules or self.seen)


def search(text: str) -> Answer:
    """Everything known about a symptom."""
    question = _spelt(words_of(text))
    scored = _with_symptoms(_ranked(question, text))
    if not scored or scored[0][0] < (LITTLE if len(_index().known(question)) >= MANY_WORDS else ENOUGH):
        return Answer((), (), (), (), _nearest(text, scored))
    symptoms = [(score, thing) for score, thing in scored if isinstance(thing, Symptom)]
    rules = [(score, thing) for score, thing in scored if isinstance(thing, RuleSummary)]
    seen = [(score, thing) for score, thing in scored if isinstance(thing, RunFinding)]
    named = symptoms[0][1] if symptoms[0][0] >= SYMPTOM_ENOUGH else None
    return Answer(
        likeliest=tuple(_likeliest(scored)),
        symptoms=_best(symptoms, SYMPTOM_ENOUGH)[:3],
        rules=_with_those_of(named, _best(rules))[:MOST_RULES],
        seen=_best(seen)[:MOST_RULES],
        nearest=(),
    )


def _ranked(question: Words, text: str) -> list[tuple[float, Thing]]:
    """Every page by the whole question or, where none fits that and it is several statements, by the one that fits
    best: people tell what goes well beside what does not."""
    scored = _index().ranked(question)
    if scored and scored[0][0] >= ENOUGH:
        return scored
    statements = [_spelt(words_of(each)) for each in _BETWEEN.split(text) if len(each.split()) >= 3]
    if len(statements) < 2:
        return scored
    best = {id(thing): score for score, thing in scored}
    for statement in statements[:MOST_STATEMENTS]:
        if len(_index().known(statement)) >= 2:
            for score, thing in _index().ranked(statement):
                best[id(thing)] = max(best[id(thing)], OF_A_STATEMENT * score)
    return sorted(((best[id(thing)], thing) for _, thing in scored), key=lambda pair: -round(pair[0], 6))


_BETWEEN: Final = re.compile(
    r"(?:[,;!?\n]|\.\s|\s-\s|\b(?:but|although|even though|though|while|whereas|however|because|since i|after i)\b)"
)


def _with_symptoms(scored: list[tuple[float, Thing]]) -> list[tuple[float, Thing]]:
    """The same, a symptom that is found speaking for its causes and for the pages that have it in its own words."""
    best = next(((score, thing) for score, thing in scored if isinstance(thing, Symptom)), None)
    if best is None or best[0] < SYMPTOM_ENOUGH:
        return scored
    mark, named = best
    phrases = {phrase.lower() for phrase in (named.name, *named.also)}
    raised = [(score + mark * _share(thing, named, phrases), thing) for score, thing in scored]
    return sorted(raised, key=lambda pair: -round(pair[0], 6))


def _share(thing: Thing, named: Symptom, phrases: set[str]) -> float:
    if isinstance(thing, Cause):
        return OF_ITS_CAUSES if thing.symptom is named else 0.0
    if isinstance(thing, Symptom) or phrases.isdisjoint(each.lower() for each in thing.symptoms):
        return 0.0
    return OF_ITS_PAGES


def _likeliest(scored: list[tuple[float, Thing]]) -> Iterator[RuleSummary | RunFinding | Cause]:
    found = 0
    for score, thing in scored:
        if score < LITTLE or found == MOST_LIKELIEST or (score < ENOUGH and found == FEW):
            return
        if not isinstance(thing, Symptom):
            found += 1
            yield thing


def _with_those_of(named: Symptom | None, rules: tuple[RuleSummary, ...]) -> tuple[RuleSummary, ...]:
    """A symptom that is found speaks for rules in all its words, not only in those of the question."""
    return rules if named is None else tuple(dict.fromkeys((*rules, *_rules_of(named))))


@cache
def _rules_of(named: Symptom) -> tuple[RuleSummary, ...]:
    words = [_index().known(words_of(phrase)) for phrase in (named.name, *named.also)]
    others: list[tuple[float, RuleSummary]] = []
    for page in _index().pages:
        if isinstance(page.thing, RuleSummary):
            others.append((max(_index().score(each, page) for each in words), page.thing))
    others.sort(key=lambda pair: -round(pair[0], 6))
    bound = max(1.0, others[0][0] * NEAR_THE_BEST)
    return tuple(rule for score, rule in others if score >= bound)


def _best(ranked: list[tuple[float, T]], enough: float = ENOUGH) -> tuple[T, ...]:
    bound = max(enough, ranked[0][0] * NEAR_THE_BEST)
    return tuple(each for score, each in ranked if score >= bound)


def _nearest(text: str, ranked: list[tuple[float, Thing]]) -> tuple[str, ...]:
    symptoms = [(score, each) for score, each in ranked if isinstance(each, Symptom)]
    sharing = [each.name for score, each in symptoms[:5] if score > 0]
    others = sorted((each.name for each in SYMPTOMS), key=lambda name: -likeness(text, name))
    return tuple(dict.fromkeys((*sharing, *others)))[:5]


@cache
def _index() -> Index[Thing]:
    return Index(zip(_things(), search_index().texts, strict=True), search_index().weights)


def _things() -> Iterator[Thing]:
    """Everything that may be an answer, in the order of the index."""
    for symptom in SYMPTOMS:
        yield symptom
        for cause in symptom.causes:
            yield Cause(cause, symptom)
    yield from search_index().rules
    yield from ALL


def _spelt(question: Words) -> Words:
    """The words of a question, slips of the pen put right as far as a word is known that is meant."""
    from difflib import get_close_matches

    spelt: Words = {}
    unknown = 0
    for word, is_denied in question.items():
        near: list[str] = []
        if word not in _index().weights and len(word) >= MISSPELT and unknown < MOST_MISSPELT:
            unknown += 1
            near = get_close_matches(word, known_words(), 1, 0.8)
        spelt.setdefault(idea(near[0]) if near else word, is_denied)
    return spelt
