import pytest

from tests.report.folder_of_a_run import RECIPE, evaluation_line, finding_line, write_run
from trimtab.errors import InputError
from trimtab.report.run_list import list_runs, table_of


@pytest.fixture
def runs(tmp_path):
    """Three runs, one of them half done, in two levels of folders, beside a folder that is none."""
    write_run(tmp_path / "a", findings=[])
    write_run(tmp_path / "deep" / "b", steps=150, evaluations=[evaluation_line(100, chrf=50.0)])
    error = finding_line(3, severity="error")
    write_run(
        tmp_path / "c",
        findings=[error],
        evaluations=[],
        recipe=RECIPE.replace("translation", "language_model"),
    )
    (tmp_path / "other").mkdir()
    return tmp_path


def names(rows):
    return [row.name for row in rows]


def test_runs_are_found_below_a_folder_with_their_scores_and_health(runs):
    a, c, b = list_runs(runs)
    assert (a.state, a.step, a.metric, a.best, a.best_step, a.health) == (
        "finished",
        300,
        "chrf",
        30.0,
        300,
        "good",
    )
    assert (b.state, b.share, b.health) == ("training", 0.5, "warning")
    assert (c.task, c.best, c.health) == ("language_model", None, "error")


@pytest.mark.parametrize(
    ("sort", "order"), [("name", "acb"), ("step", "acb"), ("best", "cba"), ("health", "cba"), ("loss", "acb")]
)
def test_runs_are_sorted(runs, sort, order):
    assert "".join(names(list_runs(runs, sort=sort))) == order


@pytest.mark.parametrize(
    ("text", "found"), [("FINISHED", "ac"), ("deep", "b"), ("error", "c"), ("nothing", "")]
)
def test_runs_are_filtered(runs, text, found):
    assert "".join(names(list_runs(runs, contains=text))) == found


def test_a_run_itself_is_a_list_of_one(runs):
    assert names(list_runs(runs / "a")) == ["a"]


def test_the_table_is_aligned(runs):
    head, *rows = table_of(list_runs(runs)).splitlines()
    assert head.split() == ["run", "state", "step", "of", "loss", "best", "at", "step", "health"]
    assert all(row.index("300 steps") == head.index("of") for row in rows)
    assert "1 error" in rows[1]


def test_no_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        list_runs(tmp_path / "missing")
