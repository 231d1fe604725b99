"""Values that something fills in before the file is used (`${RATE}`): nobody can say here what they will be."""

import re
from dataclasses import replace
from typing import Any, Final, cast

from trimtab.checks.description import Description
from trimtab.checks.rule import Diagnosis
from trimtab.checks.setting import Setting

_FORMS: Final = re.compile(r"\$\{[^{}]*\}|^\$[A-Za-z_]\w*$|^\{\{[^{}]*\}\}$")
OF_NAMES: Final = frozenset(("C101", "C107", "C108", "C109", "C115", "C116"))
"""Rules about a key's name alone, which stands there whatever the value becomes."""


def is_placeholder(value: Any) -> bool:
    """Whether a text, or a text in a list, is to be filled in: by a shell, by a template, by OmegaConf."""
    if isinstance(value, list):
        return any(is_placeholder(item) for item in cast("list[Any]", value))
    return isinstance(value, str) and ("$" in value or "{{" in value) and _FORMS.search(value) is not None


def without_placeholders(run: Description) -> Description:
    """The run without what its placeholders would say of it; the keys stay, for they are written."""
    if not placeholders(run):
        return run
    known = {concept: setting for concept, setting in run.concepts.items() if not _is_open(setting)}
    return replace(run, concepts=known)


def placeholders(run: Description) -> list[Setting]:
    """The settings to be filled in; a script has variables in their place."""
    if run.document.syntax not in ("yaml", "json"):
        return []
    return [setting for setting in run.keys.values() if _is_open(setting)]


def says_nothing(diagnosis: Diagnosis, unknown: list[Setting]) -> bool:
    """Whether it is about a value that is not filled in yet."""
    if diagnosis.finding.code in OF_NAMES:
        return False
    return any(diagnosis.place in (setting.place, setting.value_place) for setting in unknown)


def _is_open(setting: Setting) -> bool:
    return is_placeholder(setting.parsed) or is_placeholder(setting.value)
