import math
import os

import pytest

from tests.report.folder_of_a_run import RECIPE, evaluation_line, finding_line, step_line, write_run
from trimtab.report.findings import findings_of
from trimtab.report.overview import best_of, duration, human, num_bytes, overview_of, share_of
from trimtab.report.run_data import open_run


def seen(folder):
    run = open_run(folder)
    return overview_of(run, findings_of(run))


def test_the_top_says_what_the_run_is_and_how_far(tmp_path):
    overview = seen(write_run(tmp_path / "my"))
    assert (overview.task, overview.model) == ("translation", "tiny encoder-decoder, 201 parameters")
    assert overview.state == "finished at step 300"
    tiles = {tile.label: tile.value for tile in overview.tiles}
    assert (tiles["best chrF"], tiles["skipped steps"]) == ("30.0", "1")
    assert (overview.health, overview.verdict) == ("warning", "1 warning: loss spike")


@pytest.mark.parametrize(
    ("length", "share"),
    [
        ("600 steps", 0.5),
        ("9 minutes", 0.5),
        ("300k tokens", 0.5),
        ("7.5 epochs", 0.5),
        ("soon", math.nan),
        ("", math.nan),
    ],
)
def test_the_share_goes_by_the_length_of_the_recipe(tmp_path, length, share):
    run = open_run(write_run(tmp_path / "my", recipe=RECIPE.replace("300 steps", length)))
    assert share_of(run) == pytest.approx(share, nan_ok=True)


def test_the_best_goes_by_the_metric_that_chooses_it(tmp_path):
    scores = [
        evaluation_line(100, chrf=20.0),
        evaluation_line(200, chrf=25.0),
        evaluation_line(300, chrf="nan"),
    ]
    folder = write_run(tmp_path / "my", evaluations=scores)
    assert best_of(open_run(folder)) == ("chrf", 25.0, 200)
    (folder / "recipe.yaml").write_text(RECIPE.replace("best: {metric: chrf}", "best: {metric: loss}"))
    assert best_of(open_run(folder)) == ("loss", 2.0, 300)


def test_a_validation_loss_that_rises_is_named(tmp_path):
    scores = [evaluation_line(step, loss=loss) for step, loss in ((100, 2.0), (200, 2.3), (300, 2.9))]
    advice = seen(write_run(tmp_path / "my", evaluations=scores)).advice
    assert any("lowest at step 100" in each for each in advice)
    assert any("waits for data 30%" in each for each in advice)


def test_an_error_or_a_loss_that_is_no_number_is_something_wrong(tmp_path):
    error = finding_line(3, severity="error", code="S990", name="ended-diverged")
    assert seen(write_run(tmp_path / "a", findings=[error])).health == "error"
    lines = [step_line(1), step_line(2, loss="nan")]
    overview = seen(write_run(tmp_path / "b", metrics=lines, findings=[]))
    assert (overview.health, overview.verdict) == ("error", "the newest loss is not a number")


def test_a_run_without_a_step_or_a_recipe_has_an_overview(tmp_path):
    overview = seen(write_run(tmp_path / "my", metrics=[], recipe="\x00", evaluations=[]))
    assert (overview.state, overview.health) == ("has not begun", "warning")


def test_numbers_are_written_for_people():
    assert [human(each) for each in (0, 950, 12_345, 1.53e6, 999_999)] == [
        "0",
        "950",
        "12.3k",
        "1.53M",
        "1,000k",
    ]
    assert [duration(each) for each in (45, 200, 7500, 273_600)] == [
        "45 s",
        "3 min 20 s",
        "2 h 5 min",
        "3 d 4 h",
    ]
    assert [num_bytes(each) for each in (12, 1_500_000)] == ["12 bytes", "1.5 MB"]


def test_a_run_that_ended_in_skipped_steps_is_not_to_be_resumed_as_it_is(tmp_path):
    lines = [step_line(step, skipped=step > 140) for step in range(1, 150)]
    folder = write_run(tmp_path / "my", metrics=lines, evaluations=[])
    assert not any("in a row" in each for each in seen(folder).advice), "it may be training still"
    os.utime(folder / "metrics.jsonl", (1, 1))
    advice = seen(folder).advice
    assert any("ended after 9 skipped steps in a row" in each for each in advice)
    assert not any("--resume" in each for each in advice)
