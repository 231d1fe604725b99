import base64
import zlib

import numpy as np
import pytest

from tests.report.folder_of_a_run import evaluation_line, step_line, write_run
from trimtab.guard.outlier import OutlierRule, OutlierWindow
from trimtab.report.curves import curves_of, guard_bounds
from trimtab.report.run_data import open_run

KINDS = {"f4": "<f4", "f8": "<f8", "u4": "<u4"}


def numbers(curves, place):
    plain = zlib.decompress(base64.b64decode(curves.data))
    size = int(place["kind"][1])
    planes = np.frombuffer(plain[place["at"] : place["at"] + size * place["n"]], np.uint8).reshape(size, -1)
    return np.ascontiguousarray(planes.T).view(KINDS[place["kind"]]).ravel()


def chart(curves, key):
    return next(each for each in curves.charts if each["key"] == key)


def test_a_run_has_its_loss_first_and_its_metrics_next(tmp_path):
    curves = curves_of([open_run(write_run(tmp_path / "my"))])
    assert [each["key"] for each in curves.charts][:4] == ["loss", "bleu", "chrf", "learning_rate"]
    loss = chart(curves, "loss")
    assert [each["label"] for each in loss["series"]] == ["training", "guard skips above", "dev"]
    assert numbers(curves, loss["series"][0]["mean"])[199] == 40
    assert numbers(curves, loss["series"][2]["mean"]).tolist()[-1] == 2
    assert curves.runs[0]["skips"] == [[200.0, "loss_spike"]]
    assert numbers(curves, curves.runs[0]["clips"]).sum() == 6
    assert chart(curves, "grad_norm")["lines"] == [{"label": "clipped above 1", "value": 1.0}]


def test_axes_go_by_steps_tokens_and_seconds(tmp_path):
    curves = curves_of([open_run(write_run(tmp_path / "my"))])
    axes = curves.runs[0]["axes"]
    assert numbers(curves, axes["steps"]["tokens"])[-1] == 300 * 500
    assert numbers(curves, axes["evaluations dev"]["step"]).tolist() == [100, 200, 300]
    assert numbers(curves, axes["evaluations dev"]["seconds"]).tolist() == [90, 180, 270]


@pytest.mark.slow
def test_every_spike_of_one_step_is_in_the_points_of_a_long_run(tmp_path):
    chosen = [1000, 4095, 4096, 9999, 17_431]
    lines = [step_line(step, loss=77.0 if step in chosen else 2.0) for step in range(1, 20_001)]
    curves = curves_of([open_run(write_run(tmp_path / "my", metrics=lines))])
    series, width = chart(curves, "loss")["series"][0], curves.runs[0]["width"]
    highest, at = numbers(curves, series["highest"]), numbers(curves, series["highest_at"])
    found = {int(point * width + at[point]) + 1 for point in np.flatnonzero(highest == 77)}
    assert width > 1
    assert {step for step in chosen if highest[(step - 1) // width] == 77} == {*chosen}
    assert found <= {*chosen}


def test_the_guards_bounds_are_those_of_the_guard(tmp_path):
    run = open_run(write_run(tmp_path / "my"))
    loss_bound, norm_bound = guard_bounds(run, 1)
    window = OutlierWindow(OutlierRule())
    for row in range(300):
        expected = window.bounds()
        if expected is None:
            assert np.isnan(loss_bound[row])
        else:
            np.testing.assert_allclose((loss_bound[row], norm_bound[row]), expected, rtol=1e-9)
        loss, norm, skipped = (run.steps.column(name)[row] for name in ("loss", "grad_norm", "skipped"))
        if not skipped:
            window.accept(loss, norm)


def test_a_guard_that_is_off_has_no_bounds(tmp_path):
    run = open_run(write_run(tmp_path / "my", recipe="guard: {outliers: false}\n"))
    assert guard_bounds(run, 1) is None


def test_several_runs_share_their_charts(tmp_path):
    runs = [open_run(write_run(tmp_path / name)) for name in "ab"]
    loss = chart(curves_of(runs), "loss")
    assert [each["run"] for each in loss["series"] if each["label"] == "training"] == [0, 1]


def test_what_is_unknown_gets_a_curve_and_what_is_odd_gets_none(tmp_path):
    metrics = [step_line(step, own=float(step), note="word", loss="nan") for step in (1, 2, 3)]
    odd = [
        evaluation_line(3, chrf="high"),
        {"set": "dev"},
        {"step": "x"},
        {"step": 10**30, "set": "dev", "loss": 1},
    ]
    curves = curves_of([open_run(write_run(tmp_path / "my", metrics=metrics, evaluations=odd))])
    assert "own" in {each["key"] for each in curves.charts}
    assert {"note", "chrf"}.isdisjoint(each["key"] for each in curves.charts)


def test_a_run_that_has_just_begun_has_no_curves(tmp_path):
    run = write_run(tmp_path / "my", metrics=[], evaluations=[], health=[])
    assert curves_of([open_run(run)]).charts == []
