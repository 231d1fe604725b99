import json
from pathlib import Path

import pytest

from tests.lab.laboratory import run_of, with_result, written
from tests.report.folder_of_a_run import HOSTILE
from trimtab.errors import InputError
from trimtab.lab.report import lab_html, results_in, waiting_in
from trimtab.lab.table import NOT_RUN, table_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SAME, BETTER = (50.0, 51.0, 49.5, 50.2, 50.8), (52.1, 52.9, 51.6, 52.4, 52.7)


def test_every_result_of_this_project_is_on_the_page_with_its_verdict():
    results = results_in(EXPERIMENTS)
    shown = {each.name: each.verdict for each in results if each.arms}
    run = [row for row in table_of(EXPERIMENTS) if row.verdict != NOT_RUN]
    assert shown == {row.name: row.verdict for row in run if row.loaded.experiment.script is None}
    assert len(shown) >= 5
    scripts = {
        path.name: tree["verdict"]
        for path in EXPERIMENTS.glob("*.json")
        if "claims" in (tree := json.loads(path.read_text())).get("verdict", {})
    }
    assert len(scripts) > 5
    by_file = {each.file: each for each in results}
    for name, verdict in scripts.items():
        assert by_file[name].verdict == ("as predicted" if verdict["as predicted"] else "not as predicted")
        assert [each.text for each in by_file[name].claims] == [each["text"] for each in verdict["claims"]]
    html = lab_html(EXPERIMENTS)
    assert html.count('<article class="run"') == len(results)
    assert html.count('class="courses"') == len(shown)
    assert "<script" not in html


def test_an_experiment_has_its_claims_arms_differences_and_losses(tmp_path):
    course = [[1, 8.0], [50, 4.0]]
    runs = [run_of(score) | {"course": course} for score in BETTER]
    with_result(written(tmp_path, "first"), plain=SAME, other=[*runs[:4], run_of(0.0, ended="failed")])
    written(tmp_path, "second")
    (found,) = results_in(tmp_path)
    assert waiting_in(tmp_path) == ["second"]
    assert (found.verdict, found.seeds, found.steps, found.losses) == (
        "undecided at this scale",
        5,
        50,
        (4.0, 8.0),
    )
    assert [(each.name, each.changes, each.seeds, each.failed) for each in found.arms] == [
        ("plain", "", 5, 0),
        ("other", "step.optimizer.learning_rate: 0.001", 5, 1),
    ]
    assert [each.line for each in found.arms] == ["", "47.4,10.0 412.0,170.0"]
    assert found.claims[0].tone == "open"
    assert "other against plain" in found.claims[0].text
    assert found.expect == "other is better than plain, margin 0.5"
    html = lab_html(tmp_path)
    assert 'class="lab-plot"><svg' in html
    assert "Not run yet: second." in html


def test_runs_without_their_experiment_are_shown_and_not_judged(tmp_path):
    result = with_result(written(tmp_path / "experiments", "first"), plain=SAME, other=BETTER)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "first.json").write_text(json.dumps(result))
    (found,) = results_in(tmp_path / "results")
    assert found.verdict.startswith("not judged")
    assert [each.name for each in found.arms] == ["plain", "other"]


def test_text_of_results_stays_text_and_files_that_are_none_are_left_out(tmp_path):
    (tmp_path / "deep").mkdir()
    odd = {
        "experiment": HOSTILE, "question": HOSTILE, "arms": 3, "seeds": [], "seconds": "nan", "versions": {HOSTILE: 1},
        "verdict": {"claims": [{"text": HOSTILE, "holds": 1}, 7], "as predicted": "yes"},
    }  # fmt: skip
    arms = {HOSTILE: {"1": {"ended": HOSTILE, "course": [[1, 2.0], [HOSTILE, 3], [2, 1.0]]}}}
    (tmp_path / "deep" / "odd.json").write_text(json.dumps(odd))
    (tmp_path / "deep" / "runs.json").write_text(
        json.dumps({"experiment": HOSTILE, "arms": arms, "minutes": "x"})
    )
    for name, content in (
        ("a", b"[1]"),
        ("b", b"\xff"),
        ("c", b"[" * 5000),
        ("d", b'{"verdict": {"claims": []}}'),
    ):
        (tmp_path / f"{name}.json").write_bytes(content)
    found, runs = results_in(tmp_path)
    assert (found.file, found.seeds, found.seconds, found.tone) == ("deep/odd.json", 0, 0.0, "bad")
    assert [each.tone for each in found.claims] == ["bad", "bad"]
    assert (runs.arms[0].failed, runs.steps) == (1, 2)
    html = lab_html(tmp_path)
    assert "<img" not in html
    assert "<script" not in html


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(InputError, match="no result of an experiment"):
        results_in(tmp_path)
    written(tmp_path, "first")
    with pytest.raises(InputError, match="trimtab lab run NAME"):
        results_in(tmp_path)
