"""The one test over all rules: what their pages promise, each of them keeps."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings

import trimtab
from tests.checks.examined import diagnosed, seen
from tests.checks.strategies import descriptions
from tests.for_each import for_each
from trimtab.checks import rules
from trimtab.checks.catalogue import all_rules, rules_by_name
from trimtab.checks.evidence import Folklore, Maintainer, Measured, Paper
from trimtab.checks.fix.mend import mend
from trimtab.checks.rule import Check, Rule

PAIRS = all_rules()
RULES = [rule for rule, _ in PAIRS]
LETTERS = set("DMLSKEXPC")
EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FIELD = re.compile(r"(?<!\{)\{[a-z_]+[^{}]*\}(?!\})")
each_rule = for_each("rule", RULES, called=lambda rule: rule.code)
each_check = for_each(("rule", "check"), PAIRS, called=lambda pair: pair[0].code)


@each_check
def test_a_rule_fires_on_its_bad_example(rule: Rule, check: Check):
    found = diagnosed(check, rule.bad)
    assert {(each.finding.code, each.finding.name) for each in found} == {(rule.code, rule.name)}


@each_rule
def test_no_page_speaks_of_a_version_that_is_not_out_yet(rule: Rule):
    since, now = (tuple(map(int, version.split(".")[:2])) for version in (rule.since, trimtab.__version__))
    assert since <= now


@each_check
def test_a_rule_is_silent_on_its_good_example(rule: Rule, check: Check):
    assert [str(each.finding) for each in diagnosed(check, rule.good)] == []


@each_check
def test_the_texts_of_a_finding_have_no_unfilled_field_and_its_place_is_in_the_file(rule: Rule, check: Check):
    lines = rule.bad.text.splitlines()
    for found in diagnosed(check, rule.bad):
        finding = found.finding
        for text in (finding.message, finding.why, finding.fix):
            assert text
            assert not FIELD.search(text), text
        assert finding.where.startswith(rule.bad.file)
        assert 1 <= found.place.line <= len(lines) + 1


@each_check
def test_what_a_rule_would_change_mends_its_bad_example(rule: Rule, check: Check):
    found = diagnosed(check, rule.bad)
    if not any(each.edits for each in found):
        assert all(each.finding.fix for each in found)
        return
    mended = mend(
        rule.bad.text, lambda text: seen(check, replace(rule.bad, text=text)), changes_training=True
    )
    assert mended.done
    assert mended.left == ()
    assert diagnosed(check, replace(rule.bad, text=mended.text)) == []


@each_rule
def test_a_rule_has_evidence_that_bears_its_severity(rule: Rule):
    assert rule.evidence
    solid = [
        each
        for each in rule.evidence
        if not isinstance(each, Folklore) and not (isinstance(each, Paper | Maintainer) and not each.opened)
    ]
    assert solid or rule.severity == "note"
    if not solid:
        assert any("memory" in each.text for each in rule.evidence)
    for each in rule.evidence:
        assert each.text
        if isinstance(each, Paper | Maintainer):
            assert re.fullmatch(r"https://\S+", each.url)


@each_rule
def test_what_was_measured_is_kept(rule: Rule):
    for each in rule.evidence:
        if isinstance(each, Measured):
            assert [*EXPERIMENTS.glob(f"{each.experiment}*")], each.experiment


@each_rule
def test_a_page_is_whole_and_its_names_say_what_it_is(rule: Rule):
    assert re.fullmatch(r"[A-Z][1-9][0-9]{2}", rule.code)
    assert rule.code[0] in LETTERS
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.message
    assert rule.why.endswith((".", "}"))
    assert rule.fix.text
    assert rule.bad.text != rule.good.text or rule.bad.versions != rule.good.versions or rule.bad.beside
    assert all(re.fullmatch(r"S[0-4]-\d{2,3}", tip) for tip in rule.tips), rule.tips
    assert all(symptom == symptom.strip() and symptom for symptom in rule.symptoms)


def test_a_file_is_named_after_the_code_and_the_name_of_its_rule():
    files = sorted(path.stem for path in Path(rules.__path__[0]).glob("*.py") if path.stem != "__init__")
    assert files == sorted(f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in RULES)


def test_the_docstring_of_a_file_is_code_and_name():
    for rule in RULES:
        path = Path(rules.__path__[0]) / f"{rule.code.lower()}_{rule.name.replace('-', '_')}.py"
        assert path.read_text(encoding="utf-8").startswith(f'"""{rule.code} {rule.name}"""\n')


def test_codes_and_names_are_unique_and_codes_are_sorted():
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.code.lower() for rule in RULES} <= set(rules_by_name())


def test_there_are_as_many_rules_as_promised():
    assert len(RULES) >= 70


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(descriptions())
def test_no_rule_raises_whatever_is_described(run):
    for rule, check in PAIRS:
        for found in check(run):
            assert found.finding.code == rule.code
            assert found.finding.severity in ("error", "warning", "note")
