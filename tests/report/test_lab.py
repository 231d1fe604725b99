import json
from pathlib import Path

import pytest

from tests.report.folder_of_a_run import HOSTILE
from trimtab.errors import InputError
from trimtab.report.lab import lab_html, results_in

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_every_result_of_this_project_is_on_the_page_with_its_verdict():
    results = results_in(EXPERIMENTS)
    stored = {
        path.name: tree["verdict"]
        for path in EXPERIMENTS.glob("*.json")
        if "claims" in (tree := json.loads(path.read_text())).get("verdict", {})
    }
    assert len(stored) > 5
    shown = {each.file: each for each in results}
    for name, verdict in stored.items():
        assert shown[name].as_predicted == verdict["as predicted"]
        assert [each.text for each in shown[name].claims] == [each["text"] for each in verdict["claims"]]
        assert shown[name].seeds >= 1
    html = lab_html(EXPERIMENTS)
    assert html.count('<article class="run"') == len(results)
    assert "<script" not in html


def test_text_of_results_stays_text_and_files_that_are_none_are_left_out(tmp_path):
    (tmp_path / "deep").mkdir()
    odd = {
        "experiment": HOSTILE, "question": HOSTILE, "arms": 3, "seeds": [], "seconds": "nan", "versions": {HOSTILE: 1},
        "verdict": {"claims": [{"text": HOSTILE, "holds": 1}, 7], "as predicted": "yes"},
    }  # fmt: skip
    (tmp_path / "deep" / "odd.json").write_text(json.dumps(odd))
    for name, content in (
        ("a", b"[1]"),
        ("b", b"\xff"),
        ("c", b"[" * 5000),
        ("d", b'{"verdict": {"claims": []}}'),
    ):
        (tmp_path / f"{name}.json").write_bytes(content)
    (found,) = results_in(tmp_path)
    assert (found.file, found.seeds, found.seconds, found.as_predicted) == ("deep/odd.json", 0, 0.0, False)
    assert [each.holds for each in found.claims] == [False, False]
    html = lab_html(tmp_path)
    assert "<img" not in html
    assert "<script" not in html


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(InputError, match="no result of an experiment"):
        results_in(tmp_path)
