import json
import re
from contextlib import nullcontext

import pytest

from tests.short_run import SHORT, log, model_sha, newest_state
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab import launch
from trimtab.checkpoint import retention
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.config.load import load_recipe
from trimtab.config.parallel import check_processes
from trimtab.distributed.ranks import OneRank
from trimtab.errors import InputError, NothingToResume, RunFailed
from trimtab.finding import Finding
from trimtab.fit.ask import Subject, answer_on
from trimtab.fit.gpus import find_gpu
from trimtab.launch import RunResult, smoke, train
from trimtab.step.take_step import take_step
from trimtab.training import prepare
from trimtab.training.preflight import every_check
from trimtab.types import TrainState

ALL_CHECKS = launch.preflight


pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def test_a_run_folder_holds_all_that_belongs_to_a_run(trained_run):
    assert {path.name for path in trained_run.iterdir() if not path.name.startswith(".")} == {
        "recipe.yaml",
        "tokenizer",
        "facts.json",
        "metrics.jsonl",
        "evaluations.jsonl",
        "samples.jsonl",
        "sentences.jsonl",
        "health.jsonl",
        "data_ledger.json",
        "checkpoints",
    }
    assert list_steps(trained_run / "checkpoints") == [20, 40, 60]


def test_the_resolved_recipe_says_what_was_chosen_and_needs_no_other_folder(trained_run):
    resolved = load_recipe(trained_run / "recipe.yaml").recipe
    assert (resolved.step.precision, resolved.step.compile) == ("fp32", "off")
    assert resolved.step.source_tokens_per_micro_batch is not None
    assert resolved.data.train[0].source == str(trained_run.parent / "train.en")


@pytest.mark.slow
def test_the_result_says_where_the_run_is_and_whether_it_is_well(recipe, tmp_path):
    result = train(recipe, out=tmp_path / "run")
    assert (result.run, result.state.step) == (tmp_path / "run", 4)
    well, ill = [RunResult(result.run, TrainState(), [finding(each)]) for each in ("warning", "error")]
    assert well.ok
    assert not ill.ok


def finding(severity):
    return Finding(code="S901", name="non-finite-step", severity=severity, message="a step")


@pytest.mark.slow
def test_without_a_folder_the_run_is_named_after_its_recipe(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train(str(recipe)).run.resolve() == tmp_path / "runs" / "recipe"


@pytest.mark.slow
def test_overrides_are_part_of_the_recipe(recipe, tmp_path):
    train(recipe, overrides=["length=3 steps", "seed=7"], out=tmp_path / "run")
    resolved = load_recipe(tmp_path / "run" / "recipe.yaml").recipe
    assert (str(resolved.length), resolved.seed) == ("3 steps", 7)
    assert newest_state(tmp_path / "run").step == 3


def test_a_folder_that_holds_a_run_is_not_written_over(copied_run):
    run, recipe = copied_run
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="already contains a run"):
        train(recipe, out=run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_without_a_run_there_is_nothing_to_resume(recipe, tmp_path):
    with pytest.raises(NothingToResume) as caught:
        train(recipe, out=tmp_path / "nowhere", resume=True)
    assert caught.value.exit_code == 3
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.slow
def test_after_an_error_of_preflight_the_run_can_be_mended_and_resumed(tmp_path):
    recipe = small_recipe(tmp_path, **SHORT, **{"data.transforms": [{"kind": "length", "min": 6}]})
    with pytest.raises(RunFailed) as caught:
        train(recipe, out=tmp_path / "run")
    assert caught.value.exit_code == 1
    recipe = small_recipe(tmp_path, **SHORT)
    assert train(recipe, out=tmp_path / "run", resume=True).state.step == 4


@pytest.mark.slow
def test_the_way_to_train_anyway_that_a_refusal_offers_works_for_files_and_for_dicts(tmp_path):
    """A recipe that is a dict has no place for a comment."""
    file = small_recipe(tmp_path, **SHORT, **{"step.optimizer.learning_rate": 2.0})
    tree = json.loads(file.read_text())
    for corpus in (tree["data"]["train"][0], tree["data"]["valid"]):
        corpus.update({side: str(tmp_path / corpus[side]) for side in ("source", "target")})
    with pytest.raises(RunFailed) as caught:
        train(tree, out=tmp_path / "of a dict")
    offered = re.search(r"allow=(\{.*\})", str(caught.value))[1]
    loaded = load_recipe(tree, allow=json.loads(offered))
    assert train(loaded, out=tmp_path / "of a dict").state.step == 4
    with pytest.raises(RunFailed) as caught:
        train(file, out=tmp_path / "run")
    offered = re.search(r"`(# trimtab: .*?)`", str(caught.value))[1]
    file.write_text(file.read_text().replace('"learning_rate": 2.0', f'"learning_rate": 2.0 {offered}'))
    assert train(file, out=tmp_path / "run").state.step == 4


@pytest.mark.slow
def test_an_error_of_a_check_of_the_model_is_told_before_the_first_step(recipe, tmp_path, monkeypatch):
    def check(parts):
        yield Finding(code="M205", name="found", severity="error", message="m", why="", fix="")

    monkeypatch.setattr(launch, "preflight", ALL_CHECKS)
    monkeypatch.setattr(every_check, "THEN", (*every_check.THEN, check))
    with pytest.raises(RunFailed, match=r"nothing was trained: M205 found"):
        train(recipe, out=tmp_path / "run")
    assert [each["code"] for each in log(tmp_path / "run", "findings")] == ["M205"]
    assert log(tmp_path / "run", "metrics") == []


@pytest.mark.slow
def test_what_the_checkpoints_say_is_written_down(copied_run, monkeypatch):
    run, recipe = copied_run
    weights = run / "checkpoints" / step_name(60) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    remove = retention.shutil.rmtree

    def cannot(path, *args, **kwargs):
        if "step-00000020" in str(path):
            raise PermissionError(13, "Permission denied")
        return remove(path, *args, **kwargs)

    monkeypatch.setattr(retention.shutil, "rmtree", cannot)
    result = train(recipe, overrides=["checkpoint.keep=1", "guard.rewinds=0"], out=run, resume=True)
    assert result.state.step == 60
    codes = [each["code"] for each in log(run, "findings")]
    # Damaged, seen at the start; not removed, seen along the way.
    assert codes[0] == "K901"
    assert "K904" in codes
    assert [each.code for each in result.findings] == codes


def test_two_runs_of_one_recipe_end_with_the_same_weights(recipe, tmp_path):
    for name in ("one", "other"):
        train(recipe, out=tmp_path / name)
    assert model_sha(tmp_path / "one", 4) == model_sha(tmp_path / "other", 4)


@pytest.mark.slow
def test_smoke_takes_a_recipe_that_was_loaded(tmp_path):
    assert smoke(load_recipe(small_recipe(tmp_path))) < 1.0


@pytest.mark.slow
def test_the_folder_is_free_again_afterwards(recipe, tmp_path):
    train(recipe, out=tmp_path / "run")
    RunFolder.open(tmp_path / "run").close()


FEW = {"data.tokenizer": {"byte_fallback": False}}


@pytest.mark.slow
def test_what_the_check_knows_is_said_before_the_first_step_and_written_down(tmp_path):
    """Source and target are one file: nothing but the recipe shows it, and it trains well."""
    recipe = small_recipe(tmp_path, **SHORT, **{"data.train.0.target": "train.en", **FEW})
    told = Told()
    run = train(recipe, out=tmp_path / "run", progress=told).run
    assert [finding.code for finding in told.findings][:1] == ["D106"]
    assert [each["code"] for each in read_journal(run / "findings.jsonl")][:1] == ["D106"]


def test_an_error_of_the_check_ends_it_before_anything_is_read(tmp_path):
    recipe = small_recipe(tmp_path, **SHORT)
    (tmp_path / "train.en").unlink()
    with pytest.raises(RunFailed, match=r"`trimtab check` finds .*S104 warmup.*trimtab: allow S104 because"):
        train(recipe, overrides=["step.schedule.warmup=4 steps"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_call_starts_a_run_and_goes_on_with_it(recipe, tmp_path):
    """As the script of a job does that is put into its queue again."""
    for length in (4, 6):
        overrides = {"length": f"{length} steps"}
        state = train(recipe, overrides=overrides, out=tmp_path / "run", resume="auto").state
        assert state.step == length
    with pytest.raises(InputError, match="already contains a run"):
        train(recipe, out=tmp_path / "run")


def test_one_of_several_processes_refuses_to_train_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for command in (train, smoke):
        with pytest.raises(InputError, match=r"one of 2 processes.*\n  got     WORLD_SIZE=2"):
            command(tmp_path / "recipe.yaml")


@pytest.mark.quick("True")
@pytest.mark.parametrize("fails", [False, True])
def test_recordings_of_steps_end_with_the_run_whether_or_not_it_fails(tmp_path, monkeypatch, fails):
    build, closed = prepare.built, []

    class Graphs:
        def take_step(self, *given, **rest):
            if fails:
                raise RunFailed("no step")
            return take_step(*given, **rest)

        def close(self):
            closed.append(True)

    def with_graphs(*given):
        parts = build(*given)
        parts.stepper.graphs = Graphs()
        return parts

    monkeypatch.setattr(prepare, "built", with_graphs)
    with pytest.raises(RunFailed, match="no step") if fails else nullcontext():
        train(
            small_recipe(tmp_path, **SHORT),
            out=tmp_path / "run",
        )
    assert closed == [True]


@pytest.mark.parametrize("most", [1, 4])
def test_more_processes_than_a_step_has_work_for_are_refused_as_by_fit(tmp_path, most):
    sizes = {"data.max_tokens": 32, "step.tokens_per_step": 32 * most + 31, "step.tokens_per_micro_batch": 32}
    recipe = load_recipe(small_recipe(tmp_path, **sizes))

    with pytest.raises(InputError, match="more processes than a step has work for") as refused:
        train(recipe, out=tmp_path / "run", ranks=OneRank(world_size=most + 1))
    (of_train,) = refused.value.problems
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError) as refused:
        answer_on(Subject("", recipe.recipe, tmp_path), find_gpu("h100"), ranks=most + 1)
    (of_fit,) = refused.value.problems
    assert (of_train.got, of_train.allowed) == (of_fit.got, of_fit.allowed)
    assert of_train.allowed.startswith(f"1 to {most}:")
    assert of_train.fix.startswith(f"start at most {most} ")
    check_processes(recipe.recipe, most, option="", fewer="")
