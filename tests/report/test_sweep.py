from html import unescape

import pytest

from tests.report.folder_of_a_run import HOSTILE, RECIPE, evaluation_line, write_run
from trimtab.errors import InputError
from trimtab.report.run_data import open_run
from trimtab.report.sweep import course_of, sweep_html, sweep_of


@pytest.fixture
def runs(tmp_path):
    """Three runs of other learning rates; one was not evaluated, one has another key as well."""
    for name, rate, scores in (("a", "0.002", (10.0, 30.0)), ("b", "0.02", (20.0, 40.0)), ("c", "0.2", ())):
        recipe = RECIPE.replace("0.002", rate) + ("seed: 2\n" if name == "c" else "")
        rows = [evaluation_line(step, chrf=score) for step, score in zip((100, 200), scores, strict=False)]
        write_run(tmp_path / "deep" / name, steps=20, recipe=recipe, evaluations=rows)
    return tmp_path


def test_what_differs_are_columns_and_the_best_run_is_first(runs):
    found = sweep_of(runs)
    assert found.keys == ["step.optimizer.learning_rate", "seed"]
    assert [(each.row.name, *each.values) for each in found.runs] == [
        ("b", "0.02", "–"),
        ("a", "0.002", "–"),
        ("c", "0.2", "2"),
    ]


def test_the_course_of_a_score_goes_up_where_it_rises(runs):
    run = open_run(runs / "deep" / "a")
    assert course_of(run, "chrf") == "0.0,22.0 100.0,2.0"
    assert course_of(run, "bleu") == "0.0,22.0 100.0,2.0"
    assert course_of(open_run(runs / "deep" / "c"), "chrf") == ""


def test_the_page_escapes_what_recipes_say(tmp_path):
    for name, task in (("<b onclick=x>", "translation"), ("b", "x")):
        write_run(
            tmp_path / name, steps=2, recipe=RECIPE.replace("translation", task) + f"note: {HOSTILE!r}\n"
        )
    html = sweep_html(tmp_path)
    assert "<b onclick" not in html
    assert html.count("<script>") == 1
    assert "default-src 'none'; script-src 'sha256-" in unescape(html)


def test_a_folder_without_runs_is_told(tmp_path):
    with pytest.raises(InputError, match="no run in"):
        sweep_of(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        sweep_of(tmp_path / "missing")
