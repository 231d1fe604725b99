"""Which written keys together mean something, in one line (`streaming !max_steps`), so that tables of them read well.

The terms of a line must all hold:

    key            written, and neither empty, false nor 0
    !key           not written, or empty, false or 0; told only of a YAML or JSON file, where nothing else can set it
    key=a|b        written with one of these values; letters' case does not matter
    key!=a|b       written, not empty, false or 0, and with none of these values
    !key=a|b       not written, or written with another value
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from trimtab.checks.description import Description
from trimtab.checks.own_key import own
from trimtab.checks.record import record
from trimtab.checks.setting import Setting


@record
class Combination:
    """A row of a table: what stands together, what is said of it, and what to do."""

    when: str
    says: str
    fix: str


@record
class _Term:
    key: str
    values: frozenset[str]
    is_negated: bool
    """`!key`, `!key=a`."""
    is_other: bool
    """`key!=a`."""


def found(run: Description, rows: Iterable[Combination]) -> Iterator[tuple[Setting, Combination]]:
    """The rows that hold, each with the setting that its first positive term names; one row a setting."""
    named, older = set[str](), _under_older_names(run)
    for row in rows:
        where = _holds(run, row.when, older)
        if where is not None and where.key not in named:
            named.add(where.key)
            yield where, row


def holds(run: Description, when: str) -> Setting | None:
    """The setting of the first term that is not negated, where all terms hold."""
    return _holds(run, when, _under_older_names(run))


def written(run: Description, key: str) -> Setting | None:
    """A key as the tool spells it, in a script with the name of its call."""
    return own(run, key) if run.document.syntax == "python" else run.written(key)


def _under_older_names(run: Description) -> Mapping[str, Setting]:
    """By a key's name of today: settings that are written with an older one, the first of each."""
    if run.table is None:
        return {}
    known, older = run.table.keys, dict[str, Setting]()
    for name, setting in run.keys.items():
        if name in known and (renamed := known[name].renamed_to):
            older.setdefault(renamed, setting)
    return older


def _setting(run: Description, key: str, older: Mapping[str, Setting]) -> Setting | None:
    return written(run, key) or older.get(key)


def _holds(run: Description, when: str, older: Mapping[str, Setting]) -> Setting | None:
    terms = _terms(when)
    if not all(_is_true(run, term, older) for term in terms):
        return None
    return next((_setting(run, term.key, older) for term in terms if not term.is_negated), None)


@cache
def _terms(when: str) -> tuple[_Term, ...]:
    return tuple(_term(word) for word in when.split())


def _term(word: str) -> _Term:
    is_negated, word = word.startswith("!"), word.removeprefix("!")
    key, sign, values = word.partition("=")
    is_other = key.endswith("!")
    key = key.removesuffix("!")
    return _Term(key, frozenset(values.lower().split("|")) if sign else frozenset(), is_negated, is_other)


def _is_true(run: Description, term: _Term, older: Mapping[str, Setting]) -> bool:
    setting = _setting(run, term.key, older)
    if term.is_negated and setting is None:
        return run.document.syntax in ("yaml", "json")
    if setting is None:
        return False
    is_one = str(setting.value).lower() in term.values
    if term.is_other:
        return bool(setting.value) and not is_one
    holds_plainly = is_one if term.values else bool(setting.value)
    return holds_plainly != term.is_negated
