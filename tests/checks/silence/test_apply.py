import pytest

from trimtab.checks.place import Place
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.silence.apply import apply_silences, faults_of, idle, not_understood
from trimtab.checks.silence.pages import WITHOUT_REASON
from trimtab.checks.silence.silence import Silence

RULES = dict.fromkeys(("s104", "warmup-longer-than-run", "tt401"), (RULE,))


def found(line):
    return RULE.at(Place("a.yaml", line, 1), warmup="1,000", steps="500")


def silence(*rules, because="a test", line=0, is_certain=True):
    return Silence(
        rules=rules, because=because, place=Place("a.yaml", 9, 1), line=line, is_certain=is_certain
    )


def test_a_line_is_silenced_by_code_name_and_alias():
    for name in ("S104", "s104", "warmup-longer-than-run", "TT401"):
        judged = apply_silences([found(3), found(4)], [silence(name, line=3)], RULES)
        assert (len(judged.silenced), len(judged.kept)) == (1, 1)
        assert judged.kept[0].place.line == 4
        assert len(judged.used) == 1


def test_an_alias_of_two_rules_silences_both():
    two = {"tt401": (RULE, WITHOUT_REASON)}
    findings = [found(3), WITHOUT_REASON.at(Place("a.yaml", 3), rule="x")]
    judged = apply_silences(findings, [silence("TT401", line=3)], two)
    assert (judged.kept, len(judged.used)) == ((), 1)


@pytest.mark.slow
def test_thousands_of_silences_and_findings_are_parted_in_one_pass():
    silences = [silence("S104", because=f"reason {line}", line=line) for line in range(1, 20_001)]
    judged = apply_silences([found(line) for line in range(1, 20_001)], silences, RULES)
    assert (len(judged.silenced), len(judged.used)) == (20_000, 20_000)


def test_a_whole_file_is_silenced():
    judged = apply_silences([found(3), found(4)], [silence("S104")], RULES)
    assert judged.kept == ()


def test_a_silence_without_a_reason_silences_nothing_and_is_an_error():
    quiet = silence("S104", because="")
    judged = apply_silences([found(3)], [quiet], RULES)
    assert (judged.silenced, judged.used) == ((), frozenset())
    assert [(each.finding.code, each.finding.severity) for each in faults_of(quiet, RULES)] == [
        ("C190", "error")
    ]


def test_an_unknown_rule_is_told_with_the_nearest_known_one():
    (fault,) = faults_of(silence("warmup-longer-than-runs"), RULES)
    assert fault.finding.code == "C192"
    assert fault.finding.message == (
        "no rule is called `warmup-longer-than-runs`; did you mean `warmup-longer-than-run`?"
    )
    assert faults_of(silence("S104"), RULES) == []


def test_a_silence_of_nothing_is_told_where_its_rules_ran_and_all_its_files_were_seen():
    assert [each.finding.code for each in idle(silence("S104"), RULES, lambda _: True)] == ["C191"]
    assert idle(silence("S104"), RULES, lambda _: False) == []
    assert idle(silence("S104", is_certain=False), RULES, lambda _: True) == []
    assert idle(silence("S104", because=""), RULES, lambda _: True) == []
    assert idle(silence("nothing"), RULES, lambda _: True) == []


def test_what_is_not_understood_is_told_as_it_is_written():
    assert "`ignore S104`" in not_understood(Place("a.yaml"), "ignore S104").finding.message
