from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.findings import findings_of, identity
from trimtab.checks.place import Place
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.selection import Chosen


def rules(*pairs):
    return Chosen(frozenset(rule.code for rule, _ in pairs), pairs)


RUN = Description(tool="x", kind="x", document=Document(path="a.yaml", syntax="yaml", text=""))


def at(line, warmup="2"):
    return RULE.at(Place("a.yaml", line), warmup=warmup, steps="1")


def test_findings_come_in_the_order_of_the_file():
    found, problems = findings_of([RUN], rules((RULE, lambda _: iter([at(3), at(1), at(2)]))))
    assert [each.place.line for each in found] == [1, 2, 3]
    assert problems == []


def test_what_two_runs_of_a_file_say_at_one_place_is_told_once():
    found, _ = findings_of([RUN, RUN], rules((RULE, lambda _: iter([at(1), at(1, warmup="3")]))))
    assert len(found) == 2  # two messages about the file as a whole
    assert identity(at(1)) == identity(at(1))
    assert identity(at(1)) != identity(at(2))


def test_a_rule_that_fails_does_not_keep_others_from_speaking():
    def fails(run):
        yield at(1)
        raise KeyError("x")

    found, problems = findings_of([RUN], rules((RULE, fails), (RULE, lambda _: iter([at(2)]))))
    assert [each.place.line for each in found] == [1, 2]
    assert [problem.where for problem in problems] == ["a.yaml"]
