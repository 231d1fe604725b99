"""What a rule says of a run that is described key by key, or by the calls of a script, for tests."""

from dataclasses import replace

from tests.checks.written import run_of
from trimtab.checks.document import Call, Entry
from trimtab.checks.place import Place


def found(module, **what):
    return list(module.check(run_of(**what)))


def severities(module, **what):
    return [each.finding.severity for each in found(module, **what)]


def call(name, qualifier="", has_rest=False, line=1, **arguments):
    place = Place("train.py", line)
    entries = {
        key: Entry(key=key, value=value, raw=str(value), place=place, value_place=place)
        for key, value in arguments.items()
    }
    return Call(name=name, qualifier=qualifier, arguments=entries, has_rest=has_rest, place=place)


def script(*calls, imports=(), text="", **what):
    run = run_of(syntax="python", **what)
    document = replace(run.document, calls=calls, imports=frozenset(imports), text=text)
    return replace(run, document=document)
