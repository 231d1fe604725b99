"""Runs of every task and of every kind of trouble have a page that says what is there."""

import json
import math
import os
import re
import shutil

import pytest

from tests.for_each import for_each
from tests.report.folder_of_a_run import (
    HOSTILE,
    RECIPE,
    evaluation_line,
    step_line,
    write_lines,
    write_run,
)
from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import TASKS
from trimtab.report.curves import MOST_SETS, curves_of
from trimtab.report.overview import overview_of
from trimtab.report.page import page_html, plain, report_of
from trimtab.report.run_data import name_apart, open_run
from trimtab.report.run_list import list_runs
from trimtab.report.samples import changed, samples_of, words_of
from trimtab.report.scores import scores_of


def html_of(*folders):
    return page_html(report_of([open_run(each) for each in folders]))


def data_of(html):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', html, re.DOTALL)[1])


def run_of_task(folder, task, **logs):
    return write_run(folder, steps=5, recipe=RECIPE.replace("translation", task), sentences=[], **logs)


@for_each("task", TASKS)
def test_each_task_has_its_own_units_and_command(tmp_path, task):
    run = open_run(run_of_task(tmp_path / task, task))
    facts = facts_of(task)
    charts = {chart["key"]: chart for chart in curves_of([run]).charts}
    assert charts["loss"]["unit"] == facts.loss_unit
    assert charts["tokens_per_second"]["unit"] == f"{facts.tokens} per second"
    html = page_html(report_of([run]))
    assert f'<option value="tokens">{facts.targets}</option>' in html
    assert f"<dt>{facts.tokens} per second</dt>" in html


def test_runs_of_different_tasks_are_compared_with_the_units_of_each(tmp_path):
    runs = [
        open_run(run_of_task(tmp_path / task / "run", task))
        for task in ("translation", "diffusion", "detection")
    ]
    report = report_of(runs)
    (loss,) = [chart for chart in report.curves.charts if chart["key"] == "loss"]
    assert loss["unit"] == "nats per target token; mean squared error; per box"
    assert report.targets == "targets"
    assert [run["name"] for run in report.curves.runs] == [
        "translation/run",
        "diffusion/run",
        "detection/run",
    ]
    assert report.differences[0].key == "task"


def test_runs_with_the_same_name_are_told_apart(tmp_path):
    places = [tmp_path / "a" / "x" / "run", tmp_path / "b" / "x" / "run", tmp_path / "other"]
    runs = [open_run(write_run(place, steps=2)) for place in places]
    runs.append(open_run(places[0]))
    name_apart(runs)
    assert [run.name for run in runs] == ["a/x/run", "b/x/run", "other", "a/x/run (2)"]
    name_apart(runs[:1])
    assert runs[0].name == "run"


@pytest.mark.parametrize(
    ("task", "sample", "judged"),
    [
        ("classification", {"source": "a", "label": "x", "predicted": "x"}, "right"),
        ("classification", {"source": "a", "label": "x", "predicted": "y"}, "wrong"),
        ("detection", {"source": "a.png", "reference": "red [1, 2]", "output": "red [1, 3]"}, ""),
        ("recognition", {"source": "a.png", "reference": "646", "output": "646"}, "100%"),
        ("translation", {"source": "a", "reference": "", "translation": "b"}, ""),
    ],
)
def test_a_sample_is_judged_as_its_task_can_be(tmp_path, task, sample, judged):
    folder = run_of_task(tmp_path / "my", task, samples=[{"step": 1, "set": "dev", "line": 1, **sample}])
    assert samples_of(open_run(folder))[0].outputs[0].judged == judged


def test_a_loss_that_is_not_finite_is_marked_and_said(tmp_path):
    lines = [step_line(step, **({"loss": "nan"} if step > 297 else {})) for step in range(1, 301)]
    lines[99] |= {"grad_norm": "inf"}
    folder = write_run(tmp_path / "my", metrics=lines, findings=[])
    run = open_run(folder)
    charts = {chart["key"]: chart for chart in curves_of([run]).charts}
    assert (charts["loss"]["series"][0]["odd"], charts["loss"]["series"][0]["num_odd"]) == (
        [298, 299, 300],
        3,
    )
    assert charts["grad_norm"]["series"][0]["odd"] == [100]
    shown = overview_of(run, [])
    assert (shown.health, shown.verdict) == ("error", "the newest loss is not a number")
    assert any("not a number in 3 lines" in each for each in shown.advice)
    (row,) = list_runs(folder)
    assert (row.health, row.errors) == ("error", 1)


def test_a_hundred_validation_sets_are_a_table_and_few_curves(tmp_path):
    rows = [
        evaluation_line(step, set=f"{HOSTILE}{n}", loss=n + step / 100)
        for step in (100, 200)
        for n in range(100)
    ]
    recipe = RECIPE.replace(
        "best: {metric: chrf}", f"best: {{metric: chrf, set: {json.dumps(HOSTILE + '42')}}}"
    )
    run = open_run(write_run(tmp_path / "my", evaluations=rows, recipe=recipe))
    (loss,) = [chart for chart in curves_of([run]).charts if chart["key"] == "loss"]
    shown = [each for each in loss["series"] if each.get("points") and not each.get("hidden")]
    assert len(loss["series"]) > 100
    assert len(shown) == MOST_SETS
    assert shown[0]["label"] == f"{HOSTILE}42"
    html = page_html(report_of([run]))
    assert html.count('<th scope="row" dir="auto" title=') == 100
    assert len(html) < 600_000
    (first, *_) = scores_of(run).rows
    assert (first.step, first.cells[0].value, first.cells[0].best) == (200, "2.000", "1.000 at 100")


def test_a_damaged_log_is_said_and_its_good_lines_are_shown(tmp_path):
    folder = write_run(tmp_path / "my", findings=[])
    lines = (folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    torn = [
        *lines[:10],
        b'{"step": 11, "lo\n',
        b"\x00" * 100 + b"\n",
        b"\n",
        *lines[10:-1],
        b'{"step": 300, "loss": 2',
    ]
    (folder / "metrics.jsonl").write_bytes(b"".join(torn))
    run = open_run(folder)
    assert run.steps.num_rows == 299
    assert run.log_problems == [
        "2 lines of `metrics.jsonl` are no JSON objects and were left out, the first at 11, 12. "
        "A killed process or a full disk leaves such lines."
    ]
    assert overview_of(run, []).health == "warning"
    assert "were left out" in html_of(folder)


def test_a_log_that_cannot_be_read_is_said(tmp_path):
    folder = write_run(tmp_path / "my", findings=[])
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").mkdir()
    run = open_run(folder)
    run.refresh()
    assert not run.refresh(), "a page that watches it would be made anew for ever"
    assert "<code>metrics.jsonl</code> cannot be read" in html_of(folder)
    assert overview_of(run, []).verdict == "a log of the run could not be read whole"


def test_a_run_that_is_deleted_file_by_file_keeps_what_was_read(tmp_path):
    folder = write_run(tmp_path / "my")
    run = open_run(folder)
    known = page_html(report_of([run]))
    for name in ("metrics.jsonl", "evaluations.jsonl", "samples.jsonl", "recipe.yaml"):
        (folder / name).unlink()
        run.refresh()
        assert run.steps.num_rows == 300
        assert len(run.evaluations) == 3
    assert "its folder is gone" in page_html(report_of([run]))
    shutil.rmtree(folder)
    run.refresh()
    assert data_of(page_html(report_of([run])))["data"] == data_of(known)["data"]
    other = write_run(tmp_path / "other", steps=2)
    os.rename(other, folder)
    assert run.refresh()
    assert run.steps.num_rows == 2


def test_a_log_that_goes_back_in_its_steps_has_an_axis_that_does_not(tmp_path):
    rolled_back = [step_line(step) for step in (*range(1, 60), *range(40, 80))]
    run = open_run(write_run(tmp_path / "my", metrics=rolled_back))
    assert "</html>" in page_html(report_of([run]))
    assert run.steps.num_rows == 99


@for_each(
    ("text", "shown"),
    [
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("大\u3000舵", "大\u3000舵"),
        ("non\u202f!", "non\u202f!"),
        ("a\u202eb\u2066\x00", "a\\u202eb\\u2066\\u0000"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_scripts_keep_their_joiners_and_spaces_and_what_turns_a_line_is_shown(text, shown):
    assert plain(text) == shown


def test_what_changed_is_a_word_or_a_character_of_a_script_without_spaces():
    assert words_of("the ship's") == ["the", " ", "ship", "'", "s"]
    assert words_of("हिन्दी में") == ["हिन्दी", " ", "में"]
    assert words_of("大きな舵") == ["大", "き", "な", "舵"]
    assert words_of("ก็ดี") == ["ก็", "ดี"]
    assert [each.text for each in changed("大きな舵", "大きい舵") if each.is_new] == ["い"]
    assert "".join(each.text for each in changed("a b", HOSTILE)) == HOSTILE


def test_every_text_of_a_run_may_be_hostile(tmp_path):
    """All at once; `test_page.py` has them one by one."""
    names = {HOSTILE: 1.0, f"{HOSTILE}2": "nan"}
    recipe = f"task: {json.dumps(HOSTILE)}\nlength: {json.dumps([HOSTILE])}\n"
    recipe += f"model: {json.dumps({'kind': HOSTILE, 'preset': [HOSTILE]})}\n"
    recipe += f"evaluate: {{best: {{set: {json.dumps(HOSTILE)}, metric: {json.dumps(HOSTILE)}}}}}\n"
    folder = write_run(
        tmp_path / "<b onclick=x>&'\"",
        recipe=recipe,
        metrics=[step_line(1, **names), step_line(2, refused=HOSTILE, skipped=True, **names)],
        evaluations=[{"step": 1, "set": HOSTILE, HOSTILE: 2.0, "loss": HOSTILE}],
        findings=[{"step": 1, "code": HOSTILE, "severity": HOSTILE, "message": HOSTILE, "name": HOSTILE}],
    )
    write_lines(folder / "health.jsonl", [{"step": 1, HOSTILE: 1.0, "rms_by_depth": {HOSTILE: math.pi}}])
    html = html_of(folder, folder)
    outside = re.sub(r"<script.*?</script>|<style>.*?</style>", "", html, flags=re.DOTALL)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "<b onclick" not in html
    assert data_of(html)["runs"][0]["name"] == folder.name
