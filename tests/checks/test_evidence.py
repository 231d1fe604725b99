from pathlib import Path

from tests.for_each import for_each
from trimtab.checks.catalogue import all_rules
from trimtab.checks.evidence import Folklore, Maintainer, Measured, Paper

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RULES = [rule for rule, _ in all_rules()]


@for_each("rule", RULES, called=lambda rule: rule.code)
def test_a_rule_that_is_more_than_a_note_stands_on_more_than_hearsay(rule):
    hearsay = all(
        isinstance(each, Folklore) or (isinstance(each, Paper | Maintainer) and not each.opened)
        for each in rule.evidence
    )
    assert rule.severity == "note" or not hearsay


def test_what_was_measured_lies_in_the_experiments_with_its_result():
    named = {each.experiment for rule in RULES for each in rule.evidence if isinstance(each, Measured)}
    for experiment in named:
        folder = EXPERIMENTS / experiment
        script = [folder.with_suffix(".py"), folder.with_suffix(".json")]
        recipe = [folder / "experiment.yaml", folder / "result.json"]
        assert any(all(path.is_file() for path in files) for files in (script, recipe)), experiment


def test_sources_have_addresses():
    for rule in RULES:
        for each in rule.evidence:
            if isinstance(each, Paper | Maintainer):
                assert each.url.startswith("https://"), (rule.code, each.url)
