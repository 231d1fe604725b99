"""What one rule says of a file and of what stands beside it, for tests; every kind of configuration is known."""

from dataclasses import replace

from tests.checks.kinds.describing import describe_all, document
from trimtab.checks.kinds.registry import kinds_of


def runs_of(file, text, *, versions="", beside=()):
    """The descriptions of the one kind that knows the file, with those of the files beside it."""
    runs = _told(file, text, versions=versions, beside=beside)
    nearby = tuple(run for name, content in beside for run in _told(name, content))
    return [replace(run, nearby=nearby) for run in runs]


def findings(rule, file, text, **how):
    """All that a rule's module says of a text."""
    return [found for run in runs_of(file, text, **how) for found in rule.check(run)]


def severities(rule, file, text, **how):
    """The severity of each finding."""
    return [found.finding.severity for found in findings(rule, file, text, **how)]


def of_example(rule, *pairs, example=None, versions=None):
    """What the rule says of its bad example with parts of the text exchanged: severities."""
    chosen = example or rule.RULE.bad
    text = chosen.text
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    how = {"versions": chosen.versions if versions is None else versions, "beside": chosen.beside}
    return severities(rule, chosen.file, text, **how)


def _told(file, text, *, versions="", beside=()):
    read = document(file, text)
    (kind,) = (kind for kind in kinds_of(read.syntax) if kind.recognises(read))
    return describe_all(kind, text, file=file, versions=versions, beside=beside)
