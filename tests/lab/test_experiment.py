import re
from pathlib import Path

import pytest

from tests.for_each import for_each
from tests.lab.laboratory import TEXT, written
from trimtab.checks.catalogue import all_rules
from trimtab.checks.evidence import Measured
from trimtab.errors import InputError
from trimtab.lab.experiment import load_experiment, names_in
from trimtab.lab.result import read_result
from trimtab.lab.runs import recipe_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
NAMES = names_in(EXPERIMENTS)
PAGE = EXPERIMENTS.parent / "docs/lab.md"


def problems(folder, text):
    with pytest.raises(InputError) as raised:
        written(folder, text=text)
    return raised.value.problems


def test_an_experiment_is_read_with_its_defaults(tmp_path):
    loaded = written(tmp_path, expect="better")
    assert loaded.experiment.seeds == (1, 2, 3, 4, 5)
    assert (loaded.experiment.reference, loaded.experiment.measure.sign) == ("plain", 1)
    assert loaded.result == tmp_path / "better" / "result.json"


@pytest.mark.parametrize(
    ("old", "new", "what", "fix"),
    [
        ("arms:", "arm:", "arm: unknown key", "arms"),
        ("EXPECT", "bigger", "predictions.0.expect: unknown value", ""),
        ("arm: other", "arm: othr", "predictions.0.arm: no such arm", "other"),
        ("than: plain", "than: other", "predictions.0.than: an arm compared with itself", "another"),
        ("margin: 0.5", "margin: 0", "predictions.0.margin: out of range", ""),
        ("margin: 0.5", "margin: .nan", "predictions.0.margin: out of range", ""),
        ("chrf", "chrff", "measure.metric: unknown value", "chrf"),
        ("failed: 0", "fails: 0", "measure.fails: unknown key", "failed"),
        ("scale: tiny", "seeds: [1, 1, 2]", "seeds: too few different seeds", "[1, 2, 3, 4, 5]"),
        ("scale: tiny", "seeds: [1, 2]", "seeds: too few different seeds", "[1, 2, 3, 4, 5]"),
        ("  plain: {}\n", "", "arms: missing", "add it"),
        ("claim: The other arm is better.\n", "", "claim: missing", "add `claim`"),
        (
            "predictions:\n  - {arm: other, than: plain, expect: EXPECT, margin: 0.5}\n",
            "",
            "predictions: missing",
            "",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, old, new, what, fix):
    assert old in TEXT
    found = problems(tmp_path, TEXT.replace(old, new))
    said = [problem for problem in found if problem.what.startswith(what)]
    assert said, [problem.what for problem in found]
    assert fix in said[0].fix
    assert said[0].where.startswith(f"{tmp_path}/better/experiment.yaml")


@pytest.mark.parametrize(
    "text", ["", "- a\n- b\n", "7", "question: [", "a: 1\na: 2\n", "\0", "question: \x07"]
)
def test_what_is_no_experiment_is_refused_without_a_traceback(tmp_path, text):
    assert problems(tmp_path, text)


def test_a_name_that_is_not_there_gets_the_nearest(tmp_path):
    written(tmp_path, expect="better")
    with pytest.raises(InputError, match="no such experiment") as raised:
        load_experiment(tmp_path, "beter")
    assert "better" in raised.value.problems[0].fix
    with pytest.raises(InputError, match="no experiments"):
        names_in(tmp_path / "nowhere")


@for_each("name", NAMES)
def test_each_experiment_of_the_project_is_whole_and_its_result_is_of_its_text(name):
    loaded = load_experiment(EXPERIMENTS, name)
    experiment = loaded.experiment
    assert experiment.question.endswith("?")
    assert experiment.tips
    if experiment.script is not None:
        assert (loaded.folder / experiment.script).is_file()
        # A script whose predictions were committed may wait for its run; the page says so.
        (waiting,) = (line for line in PAGE.read_text().splitlines() if line.startswith("Not run yet: "))
        assert loaded.result.is_file() != bool(re.search(rf"\b{name}\b", waiting))
        return
    assert len(experiment.seeds) >= 5
    assert experiment.sources
    assert experiment.foreseen
    assert all(each.because for each in experiment.predictions)
    for arm in experiment.arms:
        for scale in (None, "tiny"):
            assert recipe_of(loaded, arm, scale=scale)[0].is_file()
    if loaded.result.is_file():
        result = read_result(loaded.result)
        assert result["experiment_sha256"] == loaded.sha256, "changed after it ran"
        assert all(
            run.get("commit", result.get("commit")) for arm in result["arms"].values() for run in arm.values()
        )


def test_what_rules_cite_is_there():
    cited = {
        evidence.experiment
        for rule, _ in all_rules()
        for evidence in rule.evidence
        if isinstance(evidence, Measured)
    }
    assert cited
    assert cited <= {*NAMES}, "an experiment that a rule names has to be in experiments/"
