"""Texts of files told by a kind, for tests."""

from trimtab.checks.concepts import CONCEPTS
from trimtab.checks.keys.table import read_version
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.written import Written
from trimtab.checks.place import Place
from trimtab.checks.read.document import read_document
from trimtab.checks.setting import Setting

NEW = "transformers=5.24.0 trl=1.9.0 peft=0.20.0"
OLD = "transformers=4.46.3 trl=0.12.0 peft=0.13.0"


def document(file, text):
    """A text read as a file of this name."""
    return read_document(file, text.encode())


def describe_all(kind, text, *, file, versions="", beside=()):
    """All descriptions; the file must be recognised."""
    read = document(file, text)
    assert read.syntax in kind.syntaxes
    assert kind.recognises(read)
    others = dict(beside)
    runs = kind.describe(
        read,
        Surroundings(
            versions={
                name: read_version(number) for name, number in (pair.split("=") for pair in versions.split())
            },
            beside=lambda name: document(name, others[name]) if name in others else None,
        ),
    )
    for run in runs:
        check(run)
    return runs


def describe(kind, text, **how):
    """The only description."""
    (run,) = describe_all(kind, text, **how)
    return run


def check(run):
    """What must hold of every description: words, types, keys."""
    for word, setting in run.concepts.items():
        assert type(setting.value) is CONCEPTS[word].type, (word, setting)
    assert all(name == setting.key for name, setting in run.keys.items())


def values(run, *words):
    """Values of concepts."""
    return tuple(run.value(word) for word in words)


def written(path="a", *, table=None, is_whole=True, hidden=(), **settings):
    """Settings of a tool's own keys as if a file had them; `__` in a name stands for a dot."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return Written(
        path=path,
        settings={
            name: Setting(key=name, value=value, parsed=value, place=Place(path, 1))
            for name, value in named.items()
        },
        hidden=frozenset(hidden),
        table=table,
        is_whole=is_whole,
    )


def words(told):
    """Concepts with their values."""
    return {word: setting.value for word, setting in told.items()}
