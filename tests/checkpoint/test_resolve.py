import shutil
from pathlib import Path

import pytest

from tests.checkpoint.small_run import content_of, save
from trimtab.checkpoint.manifest import Damaged
from trimtab.checkpoint.resolve import resolve_checkpoint, run_at, split_weights
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import InputError


@pytest.fixture
def run(in_memory: Path) -> Path:
    """A run with checkpoints 2 (the best), 3 and 4."""
    path = in_memory / "runs" / "en_de"
    with RunFolder.create(path) as folder:
        folder.write_recipe("seed: 1\n")
        store = CheckpointStore(folder.checkpoints, keep=2)
        for step in (1, 2, 3, 4):
            save(store, step, best=min(step, 2))
    return path


def test_a_run_alone_is_its_best_checkpoint(run: Path):
    assert resolve_checkpoint(str(run)).step == 2
    assert resolve_checkpoint(f"{run}/").step == 2
    assert resolve_checkpoint(f"{run}@best").step == 2
    assert resolve_checkpoint(f"{run}@").step == 2


def test_a_step_and_the_last_are_named_after_an_at(run: Path):
    assert resolve_checkpoint(f"{run}@last").step == 4
    assert resolve_checkpoint(f"{run}@3").step == 3
    assert resolve_checkpoint(f"{run}@00000003").step == 3


@pytest.mark.parametrize("weights", ["raw", "ema"])
def test_the_weights_are_named_behind_the_step_or_in_its_place(run: Path, weights: str):
    folder = run / "checkpoints" / "step-00000003"
    for spec, step in {"@": 2, "@best:": 2, "@last:": 4, "@3:": 3}.items():
        found = resolve_checkpoint(f"{run}{spec}{weights}")
        assert (found.step, found.weights) == (step, weights)
    assert resolve_checkpoint(f"{folder}@{weights}").weights == weights
    assert resolve_checkpoint(str(run)).weights is None
    with pytest.raises(InputError, match=r"has no checkpoint '3:mean'"):
        resolve_checkpoint(f"{run}@3:mean")


def test_a_folder_whose_name_ends_like_weights_is_that_folder(run: Path):
    strange = run.rename(run.with_name("en@ema"))
    assert resolve_checkpoint(str(strange)).weights is None
    assert resolve_checkpoint(f"{strange}@3:raw").step == 3
    assert split_weights("en:ema") == ("en:ema", None)


def test_a_checkpoint_can_be_named_by_its_folder(run: Path):
    found = resolve_checkpoint(str(run / "checkpoints" / "step-00000003"))
    assert found.step == 3
    assert found.run == run


def test_a_run_that_was_never_evaluated_is_its_newest_checkpoint(in_memory: Path):
    with RunFolder.create(in_memory / "run") as folder:
        folder.write_recipe("seed: 1\n")
        save(CheckpointStore(folder.checkpoints, keep=2), 7)
    assert resolve_checkpoint(str(in_memory / "run")).step == 7
    with pytest.raises(InputError, match="has no checkpoint 'best'"):
        resolve_checkpoint(f"{in_memory / 'run'}@best")


def test_a_folder_with_an_at_in_its_name_is_that_folder(run: Path):
    strange = run.rename(run.with_name("en@5"))
    assert resolve_checkpoint(str(strange)).step == 2
    assert resolve_checkpoint(f"{strange}@last").step == 4


@pytest.mark.parametrize("which", ["500", "newest", "1", "-1", "٣", "3 ", "9" * 5000])
def test_another_checkpoint_is_refused_with_those_that_exist(run: Path, which: str):
    with pytest.raises(InputError) as caught:
        resolve_checkpoint(f"{run}@{which}")
    assert f"has no checkpoint '{which[:20]}" in str(caught.value)
    assert f"allowed {run}@last, {run}@2, {run}@3, {run}@4" in str(caught.value)


def test_a_run_that_is_missing_names_what_is_near(run: Path):
    with pytest.raises(InputError) as caught:
        resolve_checkpoint(f"{run.parent}/en_dee@last")
    assert str(caught.value) == (
        f"no such run: {run.parent}/en_dee\n"
        "  got     no file or folder at this path\n"
        "  allowed the folder of a run\n"
        f"  fix     did you mean {run}?"
    )
    with pytest.raises(InputError, match="name the folder of a run"):
        resolve_checkpoint("/no/such/place")


def test_a_folder_that_is_no_run_says_what_is_missing_and_which_runs_are_in_it(run: Path, tmp_path: Path):
    with pytest.raises(InputError) as caught:
        resolve_checkpoint(str(run.parent))
    assert str(caught.value) == (
        f"{run.parent} is not a run\n"
        "  got     no recipe.yaml in it\n"
        "  allowed the folder of a run\n"
        f"  fix     did you mean {run}?"
    )
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="got     a file"):
        resolve_checkpoint(str(tmp_path / "file"))


def test_a_run_without_checkpoints_says_so(tmp_path: Path):
    with RunFolder.create(tmp_path / "run") as folder:
        folder.write_recipe("seed: 1\n")
    with pytest.raises(InputError, match="has no checkpoint yet"):
        resolve_checkpoint(str(tmp_path / "run"))


def test_where_every_checkpoint_was_set_aside_these_are_named(run: Path):
    for folder in list((run / "checkpoints").iterdir()):
        folder.rename(folder.with_name(f".corrupt-{folder.name}-ab12"))
    with pytest.raises(InputError, match=r"no checkpoint of the run .* is sound") as caught:
        resolve_checkpoint(f"{run}@last")
    (problem,) = caught.value.problems
    assert ".corrupt-step-00000003-ab12, .corrupt-step-00000004-ab12" in problem.got
    assert "--resume" not in problem.fix


def test_where_the_checkpoints_are_gone_nobody_is_told_to_wait_for_them(run: Path):
    shutil.rmtree(run / "checkpoints")
    RunFolder(run).data_ledger.touch()
    with pytest.raises(InputError, match=r"are gone(.|\n)*is their disk mounted"):
        resolve_checkpoint(str(run))


def test_looking_changes_nothing_even_where_something_is_damaged(run: Path):
    (run / "checkpoints" / "step-00000004" / "state.json").write_bytes(b"")
    (run / "checkpoints" / ".draft-step-00000005-1-ab").mkdir()
    before = content_of(run)
    with pytest.raises(Damaged, match=r"state\.json has 0 bytes"):
        resolve_checkpoint(f"{run}@last")
    with pytest.raises(Damaged, match=r"state\.json has 0 bytes"):
        resolve_checkpoint(f"{run}@4")
    assert content_of(run) == before
    assert (run / "checkpoints" / ".draft-step-00000005-1-ab").exists()


def test_the_best_beside_a_damaged_newest_one_is_told(run: Path, caplog):
    resolve_checkpoint(str(run))
    assert "K901" not in caplog.text
    (run / "checkpoints" / "step-00000004" / "state.json").write_bytes(b"")
    resolve_checkpoint(str(run))
    assert "step-00000004 is not sound" in caplog.text


def test_where_a_whole_run_is_wanted_a_checkpoint_of_it_is_told_as_such(run: Path):
    assert run_at(run).path == run
    with pytest.raises(InputError) as caught:
        run_at(Path(f"{run}@last"))
    assert "name the run alone" in str(caught.value)


def test_a_pretrained_model_is_no_run_and_the_message_says_how_it_becomes_one(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}")
    for name in (str(tmp_path), "owner-of-none/name"):
        with pytest.raises(
            InputError, match=r"begins with this model, by `model: \{kind: pretrained, path: "
        ) as error:
            run_at(Path(name))
        assert name in error.value.problems[0].fix
