"""Experiments for tests: written into a folder, with results made of given scores."""

import json

from trimtab.lab.experiment import load_experiment
from trimtab.lab.verdict import AGAIN

SEEDS = (1, 2, 3, 4, 5)
TEXT = """\
question: Is it better?
claim: The other arm is better.
scale: tiny
arms:
  plain: {}
  other: {step.optimizer.learning_rate: 1.0e-3}
measure: {metric: chrf, set: prose, failed: 0}
predictions:
  - {arm: other, than: plain, expect: EXPECT, margin: 0.5}
"""


def written(folder, name="better", text=TEXT, *, expect="better"):
    """An experiment in a folder of experiments."""
    path = folder / name / "experiment.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("EXPECT", expect))
    return load_experiment(folder, name)


def run_of(score, ended="finished"):
    return {"key": "k", "ended": ended, "steps": 9, "seconds": 60.0, "scores": {"prose": {"chrf": score}}}


def with_result(loaded, **arms):
    """Stores a result with the scores of each arm, seed by seed."""
    runs = {
        AGAIN if name == "again" else name: {
            str(seed): each if isinstance(each, dict) else run_of(each)
            for seed, each in zip(SEEDS, scores, strict=False)
        }
        for name, scores in arms.items()
    }
    result = {
        "experiment": loaded.name,
        "experiment_sha256": loaded.sha256,
        "scale": "tiny",
        "command": f"trimtab lab run {loaded.name}",
        "hardware": "CPU",
        "versions": {},
        "minutes": 10.0,
        "arms": runs,
    }
    loaded.result.write_text(json.dumps(result))
    return result


def made_by(monkeypatch, *, ended="finished", **more):
    """Puts records of these in the place of trained runs; gives the list of those that were made."""
    made = []

    def make_all(runs, *, cache, told, **_):
        for run in runs:
            if cache.get(run) is None:
                record = {
                    "ended": ended,
                    "seconds": 1.0,
                    "scores": {"prose": {"loss": 2.0, "chrf": 50.0}},
                    **more,
                }
                made.append(run)
                if ended == "finished":
                    cache.put(run, record)
                told(run, record)

    monkeypatch.setattr("trimtab.lab.laboratory.make_all", make_all)
    return made
