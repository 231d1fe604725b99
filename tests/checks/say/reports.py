"""A report made by hand, for the tests of every way to tell it."""

from trimtab.checks.edits import SetValue
from trimtab.checks.place import Place
from trimtab.checks.read.yaml import read_yaml
from trimtab.checks.report import Report, Skipped
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.setting import Setting
from trimtab.errors import Problem

TEXT = "base_model: x\nmax_steps: 500\nwarmup_steps: 1000  # ü\n"


def finding(path="runs/a, b.yaml", line=3, **changes):
    setting = Setting(
        key="warmup_steps",
        value=1000,
        place=Place(path, line, 1, line, 13),
        value_place=Place(path, line, 15, line, 19),
    )
    return RULE.at(setting, warmup="1,000", steps="500", **changes)


def report(*diagnoses, **fields):
    documents = {each.place.path: read_yaml(each.place.path, TEXT) for each in diagnoses}
    files = tuple(documents) or ("a.yaml",)
    return Report(diagnoses=diagnoses, files=files, documents=documents, **fields)


EDIT = SetValue("warmup_steps", 50)
UNREADABLE = Problem(what="b.yaml: not UTF-8", got="the byte 0xFF", fix="save it again", where="b.yaml:1")
SKIPPED = Skipped("notes.txt", "not a configuration that trimtab knows")
