"""All rules: found in `rules/`, sorted by code, and by every name that people know them under."""

import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec
from pkgutil import get_importer, iter_modules
from types import ModuleType
from typing import Final

from trimtab.checks import rules
from trimtab.checks.document import Syntax
from trimtab.checks.rule import Check, Rule

OF_SCRIPTS: Final = frozenset(
    {
        "C124", "C125", "C126", "D115", "D116", "D117", "D118", "D119", "D122", "E108", "E109", "E110", "E111", "E112",
        "D123", "E113", "E114", "E115", "E116", "L103", "L120", "S157", "S158", "S159", "S160", "S315", "S316",
        "L113", "L114",
        "L115", "L116", "L117", "M122", "M123", "M124", "M311", "M319", "P305", "P306", "P308", "P309", "P310", "P311",
        "S119", "S121", "S137", "S138", "S139", "S141", "S143", "S144", "S145", "S146", "S147", "S148",
        "S153", "S154", "S155", "S156", "K112",
        "M320", "X104", "X106",
        "C127", "C128", "C129", "D124", "D125", "D126", "D127", "D128", "D129", "D130", "D131", "D132", "E117",
        "E118", "E119", "E120", "E121", "K113", "L121", "L122", "M125", "M126", "M127", "M129", "M321", "M322",
        "M323", "M325", "M326", "M327", "M328", "P119", "P120", "P312", "S161", "S162", "S163", "S164", "S165",
        "S166", "S167", "S168", "S169", "M324", "S317", "L123", "E122", "D133", "L124", "P121", "K114", "P122", "L125",
        "S170", "S171", "D135", "L126", "L127", "K115", "K116", "C130", "C131", "D136", "D137", "M330", "S172",
        "E123", "C132", "E124", "E125", "D138", "D139", "P313", "S173", "S174", "S318", "M132", "C133", "D140", "D141",
        "E126", "K117", "K118", "P123", "M133",
    }
)  # fmt: skip
"""Rules that look only at what a script does: for other files they are not even loaded."""


@cache
def all_codes() -> tuple[str, ...]:
    """The code of every rule, in order, without loading any."""
    return tuple(_modules())


@cache
def all_rules() -> tuple[tuple[Rule, Check], ...]:
    """Every rule with its check, by code."""
    return rules_for("python")


@cache
def rules_for(syntax: Syntax) -> tuple[tuple[Rule, Check], ...]:
    """Every rule that may have something to say of a file of this syntax, with its check, by code."""
    modules = (
        _loaded(name) for code, name in _modules().items() if syntax == "python" or code not in OF_SCRIPTS
    )
    return tuple((module.RULE, module.check) for module in modules)


def _loaded(name: str) -> ModuleType:
    """The module of a rule, as `import_module` gives it.

    Asking the folder's own finder spares the search through all others for each of 200 modules: a twentieth of the time
    in which one file is checked.
    """
    if module := sys.modules.get(name):
        return module
    finder = get_importer(rules.__path__[0])
    spec = finder.find_spec(name) if finder else None
    if spec is None or spec.loader is None:
        return import_module(name)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def rule_of(code: str) -> Rule:
    """The rule of a code; raises KeyError where there is none."""
    return import_module(_modules()[code]).RULE


@cache
def _modules() -> dict[str, str]:
    names = sorted(found.name for found in iter_modules(rules.__path__))
    return {name[:4].upper(): f"{rules.__name__}.{name}" for name in names}


@cache
def rules_by_name() -> dict[str, tuple[Rule, ...]]:
    """Code, name and aliases, in lower case, to the rule; an alias may be that of several."""
    named: dict[str, tuple[Rule, ...]] = {}
    for rule, _ in all_rules():
        for alias in {alias.lower() for alias in rule.aliases}:
            named[alias] = (*named.get(alias, ()), rule)
    return named | {name.lower(): (rule,) for rule, _ in all_rules() for name in (rule.code, rule.name)}
