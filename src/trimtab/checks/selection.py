"""Which rules run: `--select` and `--ignore` take codes, beginnings of codes, names and aliases."""

from collections.abc import Sequence

from trimtab.checks.catalogue import all_rules
from trimtab.checks.nearest import nearest
from trimtab.checks.rule import Check, Rule
from trimtab.errors import InputError, Problem

Chosen = tuple[tuple[Rule, Check], ...]


def chosen_rules(select: Sequence[str], ignore: Sequence[str]) -> Chosen:
    """The rules that `select` names (all where it is empty) without those that `ignore` names; raises InputError."""
    pairs = all_rules()
    problems: list[Problem] = []
    wanted = _codes(pairs, "--select", select, problems) if select else {rule.code for rule, _ in pairs}
    unwanted = _codes(pairs, "--ignore", ignore, problems)
    if problems:
        raise InputError(*problems)
    return tuple(pair for pair in pairs if pair[0].code in wanted - unwanted)


def _codes(pairs: Chosen, option: str, words: Sequence[str], problems: list[Problem]) -> set[str]:
    codes: set[str] = set()
    for word in words:
        meant = {rule.code for rule, _ in pairs if _means(word.lower(), rule)}
        if not meant:
            problems.append(_unknown(pairs, option, word))
        codes |= meant
    return codes


def _means(word: str, rule: Rule) -> bool:
    return rule.code.lower().startswith(word) or word == rule.name or word in map(str.lower, rule.aliases)


def _unknown(pairs: Chosen, option: str, word: str) -> Problem:
    near = nearest(
        word.lower(), [name for rule, _ in pairs for name in (rule.code.lower(), rule.name)], cutoff=0.6
    )
    return Problem(
        what=f"{option}: no rule of that name",
        got=word,
        allowed="codes, beginnings of codes (S, S1), names, aliases",
        fix=f"did you mean `{near if '-' in near else near.upper()}`?"
        if near
        else "`trimtab rules` lists them",
    )
