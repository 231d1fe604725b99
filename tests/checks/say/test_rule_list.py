import json

from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.say.pages import all_pages
from trimtab.checks.say.rule_list import STAGES, as_objects, as_table
from trimtab.run_findings.catalog import ALL


def test_a_rule_stands_under_its_stage():
    assert as_table([RULE]) == (
        "S  step\nS104  warmup-longer-than-run  error    arithmetic\n\n"
        "1 rules; `trimtab explain CODE` shows the page of one"
    )


def test_every_rule_is_of_a_stage():
    assert {rule.code[0] for rule in all_pages()} <= set(STAGES)
    assert len(as_table(all_pages()).splitlines()) > len(all_pages())


def test_objects_can_be_written_as_json():
    (told,) = as_objects([RULE])
    assert json.loads(json.dumps(told)) == told
    assert told["message"] == "warm-up is <warmup> steps, but the run ends after <steps>"


def test_what_is_seen_of_a_run_comes_after_the_rules_with_the_time_at_which():
    page = next(page for page in ALL if page.code == "S206")
    assert as_table([RULE], [page]).splitlines()[-5:] == [
        "",
        "Seen before the first step and while a run runs",
        "S206  skipped-step-changes-something  error    before the first step",
        "",
        "1 rules, and 1 findings of runs; `trimtab explain CODE` shows the page of one",
    ]


def test_rules_and_what_is_seen_of_a_run_have_the_same_keys_and_no_code_twice():
    told = as_objects(all_pages(), ALL)
    assert {frozenset(each) for each in told} == {frozenset(told[0])}
    assert len({each["code"] for each in told}) == len(told)
