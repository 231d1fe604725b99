"""All rules: found in `rules/`, sorted by code, and by every name that people know them under."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from trimtab.checks import rules
from trimtab.checks.rule import Check, Rule


@cache
def all_rules() -> tuple[tuple[Rule, Check], ...]:
    """Every rule with its check, by code."""
    modules = (import_module(f"{rules.__name__}.{found.name}") for found in iter_modules(rules.__path__))
    return tuple(sorted(((module.RULE, module.check) for module in modules), key=lambda pair: pair[0].code))


@cache
def rules_by_name() -> dict[str, tuple[Rule, ...]]:
    """Code, name and aliases, in lower case, to the rule; an alias may be that of several."""
    named: dict[str, tuple[Rule, ...]] = {}
    for rule, _ in all_rules():
        for alias in {alias.lower() for alias in rule.aliases}:
            named[alias] = (*named.get(alias, ()), rule)
    return named | {name.lower(): (rule,) for rule, _ in all_rules() for name in (rule.code, rule.name)}
