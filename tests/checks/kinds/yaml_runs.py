"""YAML told by a kind in its own dialect, for tests."""

from tests.checks.kinds.describing import check, document
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.registry import kinds_of
from trimtab.checks.read.dialects import in_dialect

VALUES = (
    None, True, False, 0, 1, -1, 2.5, float("inf"), float("nan"), 10**30, "text", "1e-4", "noam", [], [1], [None, {}],
    {}, {"a": 1}, {"corpus": {"path_src": 1}}, "\u2028", "a b", ["filtertoolong"],
)  # fmt: skip
"""What somebody may write behind a key, sense or nonsense."""


def read_as(kind, text):
    """The document as this kind's tool reads it."""
    return in_dialect(document("run.yaml", text), kind.dialect)


def told(kind, text, versions=None):
    """The only description; the file must be recognised as this kind and no other."""
    assert names_for(text) == [kind.name]
    (run,) = kind.describe(read_as(kind, text), Surroundings(versions=versions or {}))
    check(run)
    return run


def names_for(text):
    """Names of the kinds that recognise a text."""
    read = document("run.yaml", text)
    return [kind.name for kind in kinds_of("yaml") if kind.recognises(in_dialect(read, kind.dialect))]


def settle(kind, tree):
    """Describes any tree of values, whatever stands in it; the description must hold what every one must."""
    import io

    from ruamel.yaml import YAML

    text = io.StringIO()
    YAML(typ="safe", pure=True).dump(tree, text)
    for run in kind.describe(read_as(kind, text.getvalue()), Surroundings()):
        check(run)


def unknown_keys(run):
    """Written keys that the run's table does not have, groups that nobody checks aside."""
    return [key for key in run.keys if run.table.key(key) is None and not _in_open(run.table, key)]


def _in_open(table, key):
    parent = key.rpartition(".")[0]
    while parent:
        known = table.key(parent)
        if known is not None:
            return known.open
        parent = parent.rpartition(".")[0]
    return False
