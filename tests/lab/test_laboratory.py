import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.laboratory import TEXT, made_by, written
from trimtab.errors import InputError, RunFailed
from trimtab.lab import laboratory
from trimtab.lab.laboratory import Plan, place_of, result_path, run_experiments, take_runs
from trimtab.lab.pool import Cache
from trimtab.lab.runs import runs_of

RECIPE = Path(__file__).parents[2] / "experiments" / "scales" / "tiny.yaml"
BESIDE = TEXT.replace("{step.optimizer.learning_rate: 1.0e-3}", "{model.dropout: 0.2}")


@pytest.fixture
def both(tmp_path):
    """Two experiments with the same reference."""
    (tmp_path / "scales").mkdir()
    (tmp_path / "scales" / "tiny.yaml").write_text(RECIPE.read_text())
    return [written(tmp_path), written(tmp_path, "beside", BESIDE)]


@pytest.fixture
def said():
    return []


def plan(tmp_path, **changes):
    return Plan(cache=tmp_path / "runs", device="cpu", seeds=2, out=tmp_path / "out", **changes)


def test_arms_that_experiments_share_are_made_once(both, tmp_path, monkeypatch, said):
    made = made_by(monkeypatch)
    results = run_experiments(both, plan(tmp_path), say=said.append)
    assert len(made) == 2 * (2 + 2)
    assert said[0].startswith("12 runs in 2 experiments, 8 of them distinct, 0 done before, on CPU")
    assert said[1].startswith("1/8 plain, seed 1: finished in 1 s  prose: loss 2, chrf 50")
    assert [{arm: len(seeds) for arm, seeds in each["arms"].items()} for each in results] == [
        {"plain": 2, "other": 2, "reference, other weights": 2}
    ] * 2
    made.clear()
    assert run_experiments(both, plan(tmp_path), say=said.append) == results
    assert made == []


def test_results_hold_each_run_as_soon_as_it_has_ended(both, tmp_path, monkeypatch, said):
    made_by(monkeypatch)
    seen = []

    def after_each():
        files = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")]
        seen.append(max(sum(map(len, each["arms"].values())) for each in files))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiments(both[:1], plan(tmp_path), say=said.append, after_each=after_each)
    assert seen == [1, 2, 3]
    made = made_by(monkeypatch)
    run_experiments(both[:1], plan(tmp_path), say=said.append)
    assert len(made) == 3


def test_a_run_that_was_stopped_is_said_and_leaves_no_number(both, tmp_path, monkeypatch, said):
    made_by(monkeypatch, ended="stopped", error="no time\nmore")
    calls = []
    (result,) = run_experiments(both[:1], plan(tmp_path), say=said.append, after_each=lambda: calls.append(1))
    assert result["arms"] == {}
    assert calls == []
    assert "plain, seed 1: stopped: no time in 1 s" in said[1]


def test_runs_of_a_stored_result_are_not_made_again_and_stay_in_it(both, tmp_path, monkeypatch, said):
    """A fresh clone has results and no records: a budget that ends at once leaves the result as it was."""
    made_by(monkeypatch)
    (first,) = run_experiments(both[:1], plan(tmp_path), say=said.append)
    monkeypatch.setattr(laboratory, "make_all", lambda *_, **__: {})
    elsewhere = replace(plan(tmp_path), cache=tmp_path / "other runs")
    assert run_experiments(both[:1], elsewhere, say=said.append) == [first]
    assert "6 done before" in said[-1]
    monkeypatch.setattr(laboratory, "hardware", lambda _: "another processor")
    (again,) = run_experiments(both[:1], replace(elsewhere, cache=tmp_path / "third"), say=said.append)
    assert again["arms"] == {}


def test_runs_of_results_are_known_by_their_keys_or_in_old_results_by_the_text(both, tmp_path):
    loaded = both[0]
    runs = runs_of(loaded, seeds=2)
    arms = {run.arm: {str(run.seed): {"ended": "finished", "key": run.key, "seconds": 1.0}} for run in runs}
    result = {
        "experiment": "better", "experiment_sha256": loaded.sha256, "hardware": "H200",
        "versions": {"torch": "2.11.0"}, "recipe_version": 1, "commit": "c0ffee", "arms": arms,
    }  # fmt: skip

    def taken(name, **changes):
        cache = Cache(tmp_path / name, place_of("H200", "2.11.0"))
        return take_runs({**result, **changes}, loaded, runs, cache), cache

    count, cache = taken("named")
    assert count == 3
    assert cache.get(runs[-1])["key"] == runs[-1].key
    assert take_runs(result, loaded, runs, cache) == 0, "they are there"
    old = {arm: {seed: {**run, "key": "old"} for seed, run in seeds.items()} for arm, seeds in arms.items()}
    assert taken("other keys", arms=old)[0] == 0
    del result["recipe_version"]
    count, cache = taken("old", arms=old)
    assert (count, cache.get(runs[-1])["commit"]) == (3, "c0ffee")
    for name, changes in {
        "text": {"experiment_sha256": "0"},
        "version": {"recipe_version": 0},
        "torch": {"versions": {"torch": "2.13.0"}},
        "ended": {"arms": {arm: {"1": {"ended": "stopped", "key": "k"}} for arm in arms}},
    }.items():
        assert taken(name, **changes)[0] == 0, name


def test_a_result_of_a_script_has_no_runs_to_take(both, tmp_path):
    with pytest.raises(InputError, match="a result without runs"):
        take_runs({"experiment": "asks", "verdict": {}}, both[0], [], Cache(tmp_path, "here"))


def test_pairs_of_the_reference_alone_come_last(both, tmp_path, monkeypatch, said):
    made = made_by(monkeypatch)
    run_experiments(both, plan(tmp_path), say=said.append)
    arms = [run.arm for run in made]
    assert arms.index("reference, other weights") == len(arms) - 2
    assert arms[:2] == ["plain", "other"]


def test_arms_that_take_longest_are_begun_first(both, tmp_path, monkeypatch, said):
    made = made_by(monkeypatch)
    run_experiments(both[:1], plan(tmp_path, first=("other",)), say=said.append)
    assert [run.arm for run in made] == [
        "other",
        "other",
        "plain",
        "plain",
        *["reference, other weights"] * 2,
    ]


def test_where_a_result_goes(both, tmp_path):
    loaded, runs = both[0], tmp_path / "runs"
    assert result_path(loaded, Plan(cache=runs)) == loaded.result
    for changes in ({"scale": "tiny"}, {"seeds": 2}):
        assert result_path(loaded, Plan(cache=runs, **changes)) == runs / "results" / "better.json"
    assert result_path(loaded, Plan(cache=runs, out=tmp_path)) == tmp_path / "better.json"
    assert laboratory.place_of("NVIDIA H200").startswith("nvidia-h200-torch-")


def test_a_script_runs_and_its_failure_is_ours(tmp_path, said):
    text = 'question: "Is it?"\nclaim: It is.\nscript: ask.py\n'
    loaded = written(tmp_path, "asks", text)
    given = Plan(cache=tmp_path / "runs", device="cpu", scale="tiny")
    with pytest.raises(InputError, match="its script does not exist"):
        run_experiments([loaded], given, say=said.append)
    script = loaded.folder / "ask.py"
    script.write_text("import sys; open(__file__ + '.ran', 'w').write(' '.join(sys.argv[1:]))\n")
    assert run_experiments([loaded], given, say=said.append) == []
    assert (loaded.folder / "ask.py.ran").read_text() == "--quick"
    script.write_text("raise SystemExit(3)\n")
    with pytest.raises(RunFailed, match=r"ask\.py exited with code 3"):
        run_experiments([loaded], given, say=said.append)
