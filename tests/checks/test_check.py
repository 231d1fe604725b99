import json
import os

import pytest

import trimtab
from tests.cli.refusal import has_four_parts
from trimtab.checks import check as module
from trimtab.checks.baseline import write_baseline
from trimtab.checks.check import check, found_files, walked_folders
from trimtab.checks.rules.s104_warmup_longer_than_run import RULE
from trimtab.checks.selection import Chosen
from trimtab.errors import InputError

BAD = RULE.bad.text
GOOD = RULE.good.text
AXOLOTL = "base_model: x/y\nmicro_batch_size: 2\ndatasets: [{path: a, type: a}]\nmax_steps: 500\nwarmup_steps: 1000\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(report):
    return [each.finding.code for each in report.diagnoses]


def run(*paths, select=("S104",), **options):
    return check(paths, select=select, **options)


def test_a_file_and_a_folder_and_several_of_both_are_checked(folder):
    (folder / "args.json").write_text(BAD)
    (folder / "sub").mkdir()
    (folder / "sub" / "run.yaml").write_text(AXOLOTL)
    report = run("args.json", "sub")
    assert codes(report) == ["S104", "S104"]
    assert report.files == ("args.json", os.path.join("sub", "run.yaml"))
    assert (report.exit_code, report.problems) == (1, ())
    assert run(folder).files == (str(folder / "args.json"), str(folder / "sub" / "run.yaml"))


def test_the_call_is_part_of_the_package(folder):
    (folder / "args.json").write_text(BAD)
    assert trimtab.check("args.json", select=["S104"]).exit_code == 1
    assert trimtab.check(folder / "args.json", select=["S104"]).exit_code == 1


def test_a_file_that_cannot_be_read_does_not_keep_others_from_being_checked(folder):
    (folder / "broken.json").write_text('{"learning_rate": ')
    (folder / "args.json").write_text(BAD)
    report = run("broken.json", "nowhere.yaml", "args.json")
    assert codes(report) == ["S104"]
    assert report.exit_code == 2
    assert [problem.where.partition(":")[0] for problem in report.problems] == ["nowhere.yaml", "broken.json"]


def test_what_is_no_configuration_is_told_only_where_it_was_named(folder):
    (folder / "notes.yaml").write_text("title: x\n")
    report = run("notes.yaml")
    assert [each.where for each in report.problems] == ["notes.yaml"]
    assert (report.exit_code, report.files) == (2, ())
    assert (run(".").skipped, run(".").problems, run(".").exit_code) == ((), (), 0)


@pytest.mark.parametrize(
    ("name", "text", "got"),
    [
        ("empty.yaml", "", "nothing"),
        ("hello.yaml", "hello\n", "text, no keys"),
        ("list.yaml", "[1, 2]\n", "a list"),
        ("keys.json", '{"a": 1}', "only `a`"),
        ("script.py", "print(1)\n", "a script"),
        ("own.sh", "make all\n", "only `make`"),
    ],
)
def test_a_named_file_that_nobody_knows_is_refused_unless_it_is_passed_over(folder, name, text, got):
    (folder / name).write_text(text)
    (problem,) = run(name).problems
    assert (problem.what, problem.got) == (f"{name}: not a configuration that trimtab knows", got)
    assert has_four_parts(f"error: {problem}")
    passed = module.check_as_asked(name, module.Asked(ignore_unknown=True))
    assert (passed.problems, passed.exit_code) == ((), 0)


def test_what_the_user_says_it_is_and_has_nothing_in_it_is_told_and_no_mistake(folder):
    (folder / "plain.py").write_text("print(1)\n")
    report = run("plain.py", as_kind="python")
    assert (report.problems, report.exit_code) == ((), 0)


def test_only_a_report_without_problems_and_errors_counts_as_true(folder):
    (folder / "good.json").write_text(GOOD)
    (folder / "bad.json").write_text(BAD)
    (folder / "odd.yaml").write_text("hello\n")
    for name, ok in {"good.json": True, "bad.json": False, "odd.yaml": False, "gone.yaml": False}.items():
        assert (bool(run(name)), run(name).ok) == (ok, ok)


def test_of_a_folder_what_cannot_be_read_is_a_problem_only_where_it_speaks_of_training(folder):
    (folder / "chart.yaml").write_text("a: {{ .Values.x }}\nb: [\n")
    (folder / "axolotl.yaml").write_text("base_model: x\nlearning_rate: [\n")
    report = run(".")
    assert [each.path for each in report.skipped] == ["chart.yaml"]
    assert [problem.where.partition(":")[0] for problem in report.problems] == ["axolotl.yaml"]


def test_the_kind_can_be_said(folder):
    (folder / "odd.yaml").write_text("max_steps: 500\nwarmup_steps: 1000\n")
    assert codes(run("odd.yaml")) == []
    assert codes(run("odd.yaml", as_kind="axolotl")) == ["S104"]
    with pytest.raises(InputError, match="axolotl"):
        run("odd.yaml", as_kind="axolotel")


def test_standard_input_is_a_file_too(folder, monkeypatch):
    from io import BytesIO
    from types import SimpleNamespace

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(BAD.encode())))
    report = run("-")
    assert codes(report) == ["S104"]
    assert report.diagnoses[0].place.path == "-"


def test_strict_makes_warnings_count(folder):
    (folder / "a.yaml").write_text(AXOLOTL.replace("1000", "10") + "# trimtab: allow S104 because x\n")
    assert codes(run("a.yaml")) == ["C191"]
    assert (run("a.yaml").exit_code, run("a.yaml", strict=True).exit_code) == (0, 1)


def test_comments_and_the_project_silence_with_a_reason(folder):
    (folder / "a.yaml").write_text(
        AXOLOTL.replace("\nwarm", "\n# trimtab: allow S104 because of a test\nwarm")
    )
    (folder / "b.json").write_text(BAD)
    (folder / "pyproject.toml").write_text(
        '[tool.trimtab.check]\nallow = [{rule = "S104", because = "a test", files = "*.json"}]\n'
    )
    report = run(".")
    assert (codes(report), report.silenced, report.exit_code) == ([], 2, 0)


def test_an_idle_silence_of_the_project_is_told_at_the_end_of_a_run_that_saw_it_all(folder):
    (folder / "b.json").write_text(GOOD)
    (folder / "pyproject.toml").write_text(
        '[tool.trimtab.check]\nallow = [{rule = "S104", because = "a test"}]\n'
    )
    assert codes(run(".")) == ["C191"]
    assert codes(run("b.json")) == []


def test_a_wrong_pyproject_is_a_problem_and_is_told_once(folder):
    (folder / "a.json").write_text(BAD)
    (folder / "b.json").write_text(BAD)
    (folder / "pyproject.toml").write_text("[tool.trimtab.check]\nalow = []\n")
    report = run(".")
    assert codes(report) == ["S104", "S104"]
    assert [problem.what for problem in report.problems] == ["[tool.trimtab.check]: unknown key `alow`"]


def test_a_baseline_leaves_only_what_is_new(folder):
    (folder / "a.json").write_text(BAD)
    write_baseline(folder / "baseline.json", run("a.json").diagnoses)
    (folder / "b.json").write_text(BAD)
    report = run("a.json", "b.json", baseline=folder / "baseline.json")
    assert [each.place.path for each in report.diagnoses] == ["b.json"]
    assert report.known == 1
    (folder / "a.json").write_text(GOOD)
    assert codes(run("a.json", baseline="baseline.json")) == ["C194"]


def test_a_rule_that_fails_is_a_problem_that_asks_to_be_reported(folder, monkeypatch):
    (folder / "a.json").write_text(BAD)

    def fails(run):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(module, "chosen_rules", lambda *_: Chosen(frozenset({"S104"}), ((RULE, fails),)))
    (problem,) = run("a.json").problems
    assert problem.what == "a.json: the rule S104 failed; this is a bug of trimtab"
    assert (problem.got, problem.fix) == (
        "ZeroDivisionError: oh",
        "report it with the file; until then `--ignore S104`",
    )


def test_a_wrong_option_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="--select"):
        run("nowhere", select=["S1O4"])
    with pytest.raises(InputError, match="--with"):
        run("nowhere", versions=["transformers"])


def test_paths_are_told_as_they_were_given_but_for_a_leading_dot(folder):
    (folder / "a.json").write_text(GOOD)
    found, problems = found_files(["./a.json", "a.json", "gone"])
    assert [each.path for each in found] == ["a.json"]
    assert [problem.where for problem in problems] == ["gone"]
    assert walked_folders([".", "a.json"]) == (folder.resolve(),)


def test_a_report_can_be_told_of_files_that_json_cannot_hold(folder):
    (folder / "a.json").write_text(json.dumps({"output_dir": "\ud800", "per_device_train_batch_size": 8}))
    assert run("a.json").exit_code == 0
