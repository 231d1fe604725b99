import re
from collections import Counter
from pathlib import Path

from trimtab.checks.say.pages import all_pages
from trimtab.checks.say.tips import all_tips
from trimtab.lab.experiment import load_experiment, names_in
from trimtab.run_findings.catalog import ALL

ROOT = Path(__file__).parents[3]
EXPERIMENTS = ROOT / "experiments"


def test_there_are_the_claims_of_all_five_documents():
    counted = Counter(tip.id[:2] for tip in all_tips())
    assert counted == {"S0": 126, "S1": 12, "S2": 43, "S3": 16, "S4": 14}
    for seed, count in counted.items():
        ids = [tip.id for tip in all_tips() if tip.id.startswith(seed)]
        assert ids == [f"{seed}-{number:02}" for number in range(1, count + 1)]


def test_every_tip_has_one_of_the_known_kinds_and_states():
    assert {tip.kind for tip in all_tips()} == {
        "technique", "claim", "default", "hazard", "diagnostic", "tool", "advice",
    }  # fmt: skip
    assert Counter(tip.status for tip in all_tips()) == {
        "well supported": 111, "mixed": 46, "unknown": 24, "contradicted": 18, "advice": 12,
    }  # fmt: skip
    assert all(len(tip.claim) <= 120 and tip.claim.endswith(".") for tip in all_tips())


def test_every_tip_is_made_real_by_something_or_says_why_not():
    named = {tip for rule in all_pages() for tip in rule.tips}
    named |= {
        tip for name in names_in(EXPERIMENTS) for tip in load_experiment(EXPERIMENTS, name).experiment.tips
    }
    assert [
        tip.id
        for tip in all_tips()
        if tip.id not in named and not (tip.guards or tip.parts or tip.experiments or tip.limits)
    ] == []


def test_what_a_tip_names_is_there():
    assert {code for tip in all_tips() for code in tip.guards} <= {page.code for page in ALL}
    assert {tip for rule in all_pages() for tip in rule.tips} <= {tip.id for tip in all_tips()}
    named = {name for tip in all_tips() for name in tip.experiments}
    assert [name for name in sorted(named) if not (EXPERIMENTS / f"{name}.py").exists()] == []
    files = {name for tip in all_tips() for name in re.findall(r"`([a-z_]+/[a-z_]+\.py)`", tip.parts)}
    assert [name for name in sorted(files) if not (ROOT / "src" / "trimtab" / name).exists()] == []


def test_recipe_keys_that_a_tip_names_exist():
    from trimtab.config.places import known_keys

    roots = ("data", "model", "step", "loss", "evaluate", "checkpoint")
    known = {re.sub(r"\.\d+", "", key) for key in known_keys()}
    named = {name for tip in all_tips() for name in re.findall(r"`((?:[a-z_]+\.)+[a-z_]+)[`:]", tip.parts)}
    keys = {
        re.sub(r"\.\d+", "", name) for name in named if name.partition(".")[0] in roots and name[-3:] != ".py"
    }
    assert sorted(keys - known - {key.rpartition(".")[0] for key in known}) == []
