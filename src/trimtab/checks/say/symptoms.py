"""From what people see to what may be behind it: a forgiving search over symptoms, rules and what is seen in runs."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from trimtab.checks.nearest import likeness
from trimtab.checks.report import GREATEST_FIRST
from trimtab.checks.rule import Rule
from trimtab.checks.say.causes import SYMPTOMS, Symptom
from trimtab.checks.say.pages import all_pages
from trimtab.run_findings.catalog import ALL
from trimtab.run_findings.spec import RunFinding

T = TypeVar("T")
ENOUGH = 0.45
"""A likeness from which a symptom is shown; less is only offered as a question."""
MOST_RULES = 12
NEAR_THE_BEST = 0.75
"""Other symptoms are shown if they are this near to the best."""
MISSPELT = 6
"""Letters from which a word that nobody knows is taken for a slip of a known one."""
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_NUMBER = re.compile(r"[1-9][0-9]*(?:\.[0-9]+)?")
_SMALL_WORDS = (
    "a an the is are was were be been my our your its it this that of in on at to for with and or by as from i we you "
    "model models training train trained run after before when while does do did doesnt dont isnt no not very get gets "
    "got go goes becomes become has have had there all every then than so just some any again step steps hour hours "
    "keep keeps kept itself"
)
_PASSED_OVER = frozenset(_SMALL_WORDS.split())
_MEANS_THE_SAME = (
    "nan inf infinite overflow number finite",
    "oom memory fit kill vram ram",
    "repeat repetition loop degenerate again",
    "same identical one alike constant collapse collapsed",
    "diverge explode spike blow unstable divergence",
    "flat stuck plateau stay stagnate stagnant constant fall decrease drop improve learn down lower",
    "zero 0 0.0 null",
    "slow slowly slower speed idle utilisation utilization",
    "resume restart continue resumption checkpoint",
    "merge merged fuse",
    "ignore ignored effect unused drop dropped",
    "output generation generate text translation prediction write answer",
    "word token phrase sentence",
    "nonsense gibberish garbage hallucinate hallucination unrelated rubbish",
    "lr rate",
    "score bleu chrf comet accuracy metric",
    "lora adapter qlora dora",
    "gradient grad grads norm",
    "crash fail error typeerror exception abort",
    "stop end eos",
    "forget forgetting catastrophic",
    "overfit memorise memorize validation",
    "input source",
    "bad worse worst poor wrong",
    "accumulation accumulate accumulating",
    "unknown unk missing",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search came to, the likeliest first."""

    symptoms: tuple[Symptom, ...]
    rules: tuple[Rule, ...]
    seen: tuple[RunFinding, ...]
    nearest: tuple[str, ...]
    """Names of symptoms that it may have been, where nothing was found."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.symptoms or self.rules or self.seen)


def search(text: str) -> Answer:
    """Everything known about a symptom."""
    query = _stems(text)
    symptoms = _ranked([query], [(each, _phrases(each)) for each in SYMPTOMS])
    # A symptom that is found speaks for rules in all its words, not only in those of the query.
    best = symptoms[0][1] if symptoms[0][0] >= ENOUGH else None
    queries = [query, *map(_stems, _phrases(best) if best else ())]
    rules = _ranked(queries, [(rule, rule.symptoms) for rule in sorted(all_pages(), key=_gravest_first)])
    seen = _ranked(queries, [(page, page.symptoms) for page in ALL])
    highest = max(ranked[0][0] for ranked in (symptoms, rules, seen))
    if highest < ENOUGH:
        return Answer((), (), (), _nearest(text, symptoms))
    return Answer(_best(symptoms)[:3], _best(rules)[:MOST_RULES], _best(seen)[:MOST_RULES], ())


def _gravest_first(rule: Rule) -> tuple[int, str]:
    return GREATEST_FIRST.index(rule.severity), rule.code


def _phrases(symptom: Symptom) -> tuple[str, ...]:
    return symptom.name, *symptom.also


def _best(ranked: list[tuple[float, T]]) -> tuple[T, ...]:
    bound = max(ENOUGH, ranked[0][0] * NEAR_THE_BEST)
    return tuple(each for score, each in ranked if score >= bound)


def _nearest(text: str, ranked: list[tuple[float, Symptom]]) -> tuple[str, ...]:
    sharing = [each.name for score, each in ranked[:5] if score > 0]
    return tuple(
        sharing or sorted((each.name for each in SYMPTOMS), key=lambda name: -likeness(text, name))[:5]
    )


def _ranked(
    queries: Sequence[Counter[str]], things: Iterable[tuple[T, Sequence[str]]]
) -> list[tuple[float, T]]:
    scored: list[tuple[float, T]] = []
    for thing, phrases in things:
        pairs = [_likeness(query, _stems(phrase)) for query in queries for phrase in phrases]
        scored.append((max(pairs, default=0.0), thing))
    return sorted(scored, key=lambda pair: -round(pair[0], 6))


def _likeness(query: Counter[str], phrase: Counter[str]) -> float:
    """Cosine of the two, rare words weighing more: 1 for the same words, 0 for none in common."""
    weights = _weights()
    rarest = max(weights.values())
    shared = sum(weights.get(stem, rarest) ** 2 for stem in query if stem in phrase)
    lengths = [math.sqrt(sum(weights.get(stem, rarest) ** 2 for stem in stems)) for stems in (query, phrase)]
    return shared / (lengths[0] * lengths[1]) if lengths[0] and lengths[1] else 0.0


@cache
def _weights() -> dict[str, float]:
    phrases = [
        *(phrase for each in SYMPTOMS for phrase in (each.name, *each.also)),
        *(phrase for rule in all_pages() for phrase in rule.symptoms),
    ]
    counted = Counter(stem for phrase in phrases for stem in _stems(phrase))
    return {stem: math.log(1 + len(phrases) / count) for stem, count in counted.items()}


@cache
def _stems(text: str) -> Counter[str]:
    words = _WORD.findall(text.lower().replace("'", ""))
    telling = [word for word in words if word not in _PASSED_OVER and not _NUMBER.fullmatch(word)]
    return Counter(_idea(word) for word in telling or words)


def _idea(word: str) -> str:
    ideas, stem = _ideas(), _stem(word)
    if (known := ideas.get(word) or ideas.get(stem)) is not None:
        return known
    if len(stem) >= MISSPELT:
        from difflib import get_close_matches

        near = get_close_matches(stem, list(ideas), 1, 0.8)
        return ideas[near[0]] if near else stem
    return stem


@cache
def _ideas() -> dict[str, str]:
    ideas: dict[str, str] = {}
    for row in _MEANS_THE_SAME:
        first, *others = row.split()
        for word in (first, *others):
            ideas.setdefault(word, first)
            ideas.setdefault(_stem(word), first)
    return ideas


def _stem(word: str) -> str:
    """English endings taken off by hand: enough that `repeats`, `repeated` and `repeating` are one."""
    for ending in ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
