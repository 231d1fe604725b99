import re

from tests.checks.say.reports import SKIPPED, UNREADABLE, finding, report
from tests.for_each import for_each
from trimtab.checks.check import check
from trimtab.errors import Problem


def test_the_exit_code_follows_the_gravest():
    assert report().exit_code == 0
    assert report(finding(severity="note"), skipped=(SKIPPED,)).exit_code == 0
    assert report(finding(severity="warning")).exit_code == 0
    assert report(finding(severity="warning"), strict=True).exit_code == 1
    assert report(finding(severity="note"), strict=True).exit_code == 0
    assert report(finding()).exit_code == 1
    assert report(finding(), problems=(UNREADABLE,)).exit_code == 2


def test_findings_are_counted_by_severity():
    whole = report(finding(), finding(severity="note"), finding(severity="note"))
    assert [whole.count(severity) for severity in ("error", "warning", "note")] == [1, 0, 2]


@for_each(
    ("where", "count"),
    [
        (("a.yaml:1:2", "a.yaml:7:1", "a.yaml"), 1),
        (("a.yaml:1", "b.yaml:1", "b.yaml"), 2),
        (("a:3.yaml:1:2", "a:3.yaml"), 1),
        (("", ""), 2),
    ],
)
def test_a_file_counts_once_however_many_mistakes_keep_it_from_being_read(where, count):
    problems = tuple(Problem(what=f"mistake {number}", where=each) for number, each in enumerate(where))
    assert report(problems=problems).num_unreadable == count
    by_file = report(problems=problems).problems_by_file
    assert [each for found in by_file.values() for each in found] == sorted(
        problems, key=lambda each: [*by_file].index(re.sub(r"(:\d+){1,2}$", "", each.where) or each.what)
    )


def test_a_recipe_with_three_mistakes_is_one_file_that_is_not_readable(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("trimtab: 1\nlenght: 3 steps\nmodel: {dimm: 3, headds: 2}\ndata: {}\nstep: {}\n")
    whole = check(path)
    assert len(whole.problems) >= 3
    assert whole.num_unreadable == 1
