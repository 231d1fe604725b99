from types import SimpleNamespace

import pytest

from trimtab.cli.console import ConsoleProgress
from trimtab.errors import NothingToResume, RunFailed


@pytest.fixture
def calls(stand_in):
    seen = []

    def train(loaded, *, out, resume, reset, progress, ranks):
        seen.append((loaded, out, resume, progress, reset))
        return SimpleNamespace(run="runs/x", state=SimpleNamespace(step=100), ok="fails" not in str(out))

    def smoke(loaded, *, progress):
        seen.append(loaded)
        return 0.25

    stand_in("launch", train=train, smoke=smoke)
    return seen


def test_the_recipe_is_loaded_with_its_overrides_and_given_on(call, calls, recipe, tmp_path):
    result = call(
        "train", recipe, "step.optimizer.learning_rate=3e-4", "seed=2", "--out", tmp_path / "run", "--resume"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    ((loaded, out, resume, progress, reset),) = calls
    assert loaded.recipe.step.optimizer.learning_rate == 3e-4
    assert loaded.recipe.seed == 2
    assert loaded.folder == tmp_path
    assert (out, resume, reset) == (tmp_path / "run", True, ())
    assert isinstance(progress, ConsoleProgress)


def test_where_the_run_is_and_how_to_use_it_is_said_at_the_end(call, calls, recipe):
    result = call("train", recipe)
    assert result.stdout == "runs/x: 100 steps; translate with `trimtab translate runs/x`\n"
    assert calls[0][1:3] == (None, False)


def test_a_run_with_findings_that_are_errors_is_exit_code_1(call, calls, recipe):
    assert call("train", recipe, "--out", "fails").exit_code == 1


def test_a_smoke_run_says_that_the_line_works_and_leaves_no_run(call, calls, recipe):
    result = call("train", recipe, "--smoke", "seed=3")
    assert (result.exit_code, calls[0].recipe.seed) == (0, 3)
    assert "0.250" in result.stdout
    for more in (["--resume"], ["--out", "x"]):
        assert call("train", recipe, "--smoke", *more).exit_code == 2
    assert len(calls) == 1


def test_a_wrong_recipe_is_exit_code_2_before_anything_heavy_is_touched(call, recipe):
    result = call("train", recipe, "step.optimizer.learning_rat=1")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: step.optimizer.learning_rat: unknown key   (command line: ")
    assert "fix     did you mean `step.optimizer.learning_rate`?" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("error", "code"), [(NothingToResume("no checkpoint is valid"), 3), (RunFailed("it fell"), 1)]
)
def test_what_goes_wrong_in_a_run_has_its_exit_code(call, stand_in, recipe, error, code):
    def train(loaded, **options):
        raise error

    stand_in("launch", train=train)
    result = call("train", recipe, "--resume")
    assert (result.exit_code, result.stderr) == (code, f"error: {error}\n")


@pytest.mark.parametrize(
    ("options", "how"), [((), False), (("--resume",), True), (("--auto-resume",), "auto")]
)
def test_how_a_run_that_is_there_is_taken(call, calls, recipe, options, how):
    assert call("train", recipe, *options).exit_code == 0
    assert calls[0][2] == how


def test_what_is_reset_is_given_on_in_its_order(call, calls, recipe):
    assert call("train", recipe, "--resume", "--reset", "data, optimizer").exit_code == 0
    assert calls[0][4] == ("optimizer", "data")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reset", "optimizer"], "--reset: only for a run that resumes"),
        (["--auto-resume", "--reset", "optimizer"], "--reset: cannot be combined with --auto-resume"),
        (["--resume", "--reset", "moments"], "--reset: unknown part of a run"),
        (["--threads", "0"], "--threads: out of range"),
        (["--threads", "many"], "--threads: not a whole number"),
    ],
)
def test_what_cannot_be_reset_or_counted_is_refused_before_anything_is_read(
    call, calls, recipe, options, words
):
    result = call("train", recipe, *options)
    assert (result.exit_code, calls) == (2, [])
    assert words in result.stderr


def test_the_number_of_threads_is_set_before_anything_is_computed(call, calls, recipe, stand_in):
    seen = []
    stand_in("device", set_threads=lambda count: seen.append((count, len(calls))))
    assert call("train", recipe, "--threads", "3").exit_code == 0
    assert seen == [(3, 0)]
