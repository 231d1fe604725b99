"""Which rules run: `--select` and `--ignore` take codes, beginnings of codes, names and aliases."""

from collections.abc import Sequence

from trimtab.checks.catalogue import all_codes, all_rules, rules_for
from trimtab.checks.document import Syntax
from trimtab.checks.nearest import nearest
from trimtab.checks.rule import Check, Rule
from trimtab.errors import InputError, Problem

Pairs = tuple[tuple[Rule, Check], ...]


class Chosen:
    """Rules that run, loaded when a file comes that they are for."""

    def __init__(self, codes: frozenset[str], given: Pairs | None = None) -> None:
        self.codes = codes
        self._given = given
        """Rules that need not be loaded."""
        self._loaded: dict[Syntax, Pairs] = {}

    def rules_for(self, syntax: Syntax) -> Pairs:
        """Those that may have something to say of a file of this syntax, each with its check."""
        if syntax not in self._loaded:
            pairs = self._given if self._given is not None else rules_for(syntax)
            self._loaded[syntax] = tuple(pair for pair in pairs if pair[0].code in self.codes)
        return self._loaded[syntax]


def chosen_rules(select: Sequence[str], ignore: Sequence[str]) -> Chosen:
    """The rules that `select` names (all where it is empty) without those that `ignore` names; raises InputError."""
    if not select and not ignore:
        return Chosen(frozenset(all_codes()))
    pairs = all_rules()
    problems: list[Problem] = []
    wanted = _codes(pairs, "--select", select, problems) if select else {rule.code for rule, _ in pairs}
    unwanted = _codes(pairs, "--ignore", ignore, problems)
    if problems:
        raise InputError(*problems)
    return Chosen(frozenset(wanted - unwanted))


def _codes(pairs: Pairs, option: str, words: Sequence[str], problems: list[Problem]) -> set[str]:
    codes: set[str] = set()
    for word in words:
        meant = {rule.code for rule, _ in pairs if _means(word.lower(), rule)}
        if not meant:
            problems.append(_unknown(pairs, option, word))
        codes |= meant
    return codes


def _means(word: str, rule: Rule) -> bool:
    return rule.code.lower().startswith(word) or word == rule.name or word in map(str.lower, rule.aliases)


def _unknown(pairs: Pairs, option: str, word: str) -> Problem:
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
