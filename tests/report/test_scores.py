from tests.report.folder_of_a_run import evaluation_line, write_run
from trimtab.report.curves import curves_of
from trimtab.report.page import page_html, report_of
from trimtab.report.run_data import open_run
from trimtab.report.scores import scores_of


def test_each_set_has_its_newest_scores_and_the_best_where_it_is_another(tmp_path):
    scored = ((100, "a", 30.0), (100, "b", 5.0), (200, "a", 20.0))
    rows = [evaluation_line(step, set=name, chrf=score) for step, name, score in scored]
    table = scores_of(open_run(write_run(tmp_path / "my", evaluations=rows)))
    chrf = table.columns.index("chrF")
    assert [(row.name, row.step, row.cells[chrf].value, row.cells[chrf].best) for row in table.rows] == [
        ("a", 200, "20.0", "30.0 at 100"),
        ("b", 100, "5.0", ""),
    ]
    assert scores_of(open_run(write_run(tmp_path / "none", evaluations=[]))) is None


def test_metrics_that_are_not_finite_are_shown_as_what_they_are(tmp_path):
    rows = [
        evaluation_line(100, chrf=20.0, bleu="nan"),
        evaluation_line(200, chrf="nan", bleu="inf", loss="nan"),
    ]
    rows.append({"step": "nan", "set": "dev", "loss": 1.0})
    run = open_run(write_run(tmp_path / "my", evaluations=rows))
    (of_dev,) = scores_of(run).rows
    cells = dict(zip(scores_of(run).columns, of_dev.cells, strict=True))
    assert (cells["chrF"].value, cells["chrF"].number, cells["chrF"].best) == ("nan", None, "20.0 at 100")
    charts = {chart["key"]: chart for chart in curves_of([run]).charts}
    assert [each.get("odd") for each in charts["chrf"]["series"]] == [[200]]
    assert "</html>" in page_html(report_of([run]))
