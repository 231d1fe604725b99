import os
from pathlib import Path

import pytest

from tests.checkpoint.dying import dies_before_call
from tests.checkpoint.small_run import save
from tests.children import run_in_child
from tests.fake_ranks import Twins, Unasked
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import InputError, NothingToResume, RunFailed


def test_the_files_have_the_names_of_the_design(tmp_path: Path):
    run = RunFolder(tmp_path)
    names = (
        run.recipe,
        run.tokenizer,
        run.metrics,
        run.evaluations,
        run.samples,
        run.data_ledger,
        run.checkpoints,
    )
    assert [path.name for path in (*names, run.findings)] == [
        "recipe.yaml",
        "tokenizer",
        "metrics.jsonl",
        "evaluations.jsonl",
        "samples.jsonl",
        "data_ledger.json",
        "checkpoints",
        "findings.jsonl",
    ]


def test_a_new_run_gets_its_folder_and_can_be_opened_again(tmp_path: Path):
    path = tmp_path / "runs" / "one"
    with RunFolder.create(path) as run:
        assert not run.is_run
        run.write_recipe("seed: 1\n")
        assert run.is_run
    assert path.joinpath("recipe.yaml").read_text() == "seed: 1\n"
    with RunFolder.open(path) as again:
        assert again == run


def leave_a_recipe(run: RunFolder) -> None:
    run.write_recipe("seed: 1\n")


def leave_metrics(run: RunFolder) -> None:
    run.metrics.touch()


def leave_a_ledger(run: RunFolder) -> None:
    run.data_ledger.touch()


def leave_a_checkpoint(run: RunFolder) -> None:
    save(CheckpointStore(run.checkpoints, keep=1), 1)


def leave_a_damaged_checkpoint(run: RunFolder) -> None:
    (run.checkpoints / ".corrupt-step-00000001-ab").mkdir(parents=True)


@pytest.mark.parametrize(
    "leave", [leave_a_recipe, leave_metrics, leave_a_ledger, leave_a_checkpoint, leave_a_damaged_checkpoint]
)
def test_where_a_run_is_no_other_is_begun(tmp_path: Path, leave):
    leave(RunFolder(tmp_path))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match="already contains a run") as caught:
        RunFolder.create(tmp_path)
    assert "--resume" in str(caught.value)
    assert caught.value.exit_code == 2
    assert sorted(os.listdir(tmp_path)) == before
    RunFolder.open(tmp_path).close()


def test_a_folder_with_other_things_can_take_a_new_run_but_not_resume_one(tmp_path: Path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(NothingToResume, match="a folder with other things") as caught:
        RunFolder.open(tmp_path)
    assert caught.value.exit_code == 3
    RunFolder.create(tmp_path).close()


@pytest.mark.parametrize("name", ["tokenizer", "checkpoints", "samples.jsonl", "findings.jsonl"])
def test_what_others_put_there_by_the_name_of_a_file_of_a_run_is_not_written_over(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"contains files that are not a run.s(.|\n)*got     {name}"):
        RunFolder.create(tmp_path)
    assert os.listdir(tmp_path) == [name]


def test_resuming_what_is_not_there_names_what_is_near(tmp_path: Path):
    (tmp_path / "en_de").mkdir()
    with pytest.raises(NothingToResume) as caught:
        RunFolder.open(tmp_path / "en_dee")
    assert str(caught.value) == (
        f"no run to resume in {tmp_path}/en_dee\n"
        "  got     no folder at this path\n"
        f"  near    {tmp_path}/en_de\n"
        "  fix     name the folder of a run with --out, or drop --resume to start one"
    )


def test_a_folder_of_other_things_is_not_told_as_what_is_near_to_itself(tmp_path: Path):
    (tmp_path / "en_de").mkdir()
    (tmp_path / "en_de" / "notes.txt").touch()
    with pytest.raises(NothingToResume) as caught:
        RunFolder.open(tmp_path / "en_de")
    assert "near" not in str(caught.value)


def test_an_empty_folder_is_no_run_to_resume_but_one_can_be_begun_in_it(tmp_path: Path):
    with pytest.raises(NothingToResume, match="got     an empty folder"):
        RunFolder.open(tmp_path)
    assert os.listdir(tmp_path) == []
    RunFolder.create(tmp_path).close()


def test_where_a_checkpoint_was_once_committed_nothing_begins_anew(tmp_path: Path):
    run = RunFolder(tmp_path)
    run.check_nothing_lost()
    leave_a_ledger(run)
    with pytest.raises(NothingToResume, match=r"the checkpoints of .* are gone") as caught:
        run.check_nothing_lost()
    assert caught.value.exit_code == 3
    assert "is their disk mounted" in str(caught.value)


def test_resuming_a_file_says_so(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(NothingToResume, match="got     a file"):
        RunFolder.open(tmp_path / "file")


def test_a_run_killed_at_any_moment_of_its_beginning_can_be_resumed_once_something_is_in_its_folder(
    in_memory: Path,
):
    def begin() -> None:
        run = RunFolder.create(path)
        run.tokenizer.mkdir()
        CheckpointStore(run.checkpoints, keep=1)
        run.write_recipe("seed: 1\n")

    for number in range(40):
        path = in_memory / str(number)
        died = dies_before_call(number, begin)
        if path.exists() and any(path.iterdir()):
            with RunFolder.open(path) as run:
                assert CheckpointStore(run.checkpoints, keep=1).latest() is None
        if not died:
            assert number > 10
            return
    raise AssertionError("the beginning has no end")


def test_a_run_killed_before_its_recipe_can_also_be_begun_anew(tmp_path: Path):
    run = RunFolder.create(tmp_path / "run")
    run.tokenizer.mkdir()
    run.close()
    RunFolder.create(tmp_path / "run").close()


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path):
    with RunFolder.create(tmp_path / "run") as run:
        run.write_recipe("seed: 1\n")
        first = os.getpid()

        def second() -> None:
            with pytest.raises(InputError, match=f"process {first} on"):
                RunFolder.open(tmp_path / "run")

        assert run_in_child(second) == 0


def test_a_place_where_no_folder_can_be_made_is_the_users_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("x" * 5000)):
        with pytest.raises(InputError, match="cannot be made a run folder"):
            RunFolder.create(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(
        InputError, match=r"a run cannot be trained there(.|\n)*got     no permission: the folder"
    ):
        RunFolder.create(tmp_path / "run")


def link_elsewhere(path: Path) -> None:
    (path.parent.parent / "precious").write_text("mine")
    path.symlink_to(path.parent.parent / "precious")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent.parent / "new")


OURS = ("recipe", "tokenizer", "metrics", "evaluations", "samples", "findings", "data_ledger", "checkpoints")


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("make", [link_elsewhere, link_to_nothing, os.mkfifo])
@pytest.mark.parametrize("way", ["open", "create"])
def test_where_something_else_lies_in_the_place_of_a_file_the_run_is_refused_and_nothing_written(
    tmp_path: Path, make, name: str, way: str
):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()
    target = getattr(RunFolder(tmp_path / "run"), name)
    make(target)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        getattr(RunFolder, way)(tmp_path / "run")
    said = str(caught.value)
    assert f"{target.name} of the run is not a" in said or "already contains a run" in said
    assert sorted(tmp_path.rglob("*")) == before
    if (tmp_path / "precious").exists():
        assert (tmp_path / "precious").read_text() == "mine"


def test_everything_in_a_wrong_place_is_named_at_once(tmp_path: Path):
    run = RunFolder.create(tmp_path / "run")
    run.write_recipe("seed: 1\n")
    run.close()
    run.metrics.symlink_to(tmp_path / "new")
    run.tokenizer.touch()
    with pytest.raises(InputError) as caught:
        RunFolder.open(run.path)
    assert [problem.what for problem in caught.value.problems] == [
        "metrics.jsonl of the run is not a plain file, so trimtab does not read or write it",
        "tokenizer of the run is not a folder, so trimtab does not read or write it",
    ]
    assert caught.value.problems[0].got == f"a link to {tmp_path}/new"


class Told(Twins):
    """A rank beside another one, which has said already whether it could use the folder."""

    def __init__(self, *, rank: int, failed: int = 0):
        self.rank, self.is_first, self.failed, self.said = rank, rank == 0, failed, []

    def sum_ints(self, numbers, *, patient=False):
        self.said += numbers
        return [number + self.failed for number in numbers]


@pytest.mark.parametrize("resume", [False, True])
def test_the_first_rank_locks_the_folder_and_the_others_only_read_it(tmp_path: Path, resume: bool):
    if resume:
        with RunFolder.create(tmp_path) as run:
            run.write_recipe("seed: 1\n")
    first = Told(rank=0)
    with RunFolder.for_ranks(tmp_path, resume=resume, ranks=first) as run:
        assert run.writes
        assert first.said == [0]
        with RunFolder.for_ranks(tmp_path, resume=resume, ranks=Told(rank=1)) as other:
            assert not other.writes


def test_a_folder_that_the_first_rank_cannot_use_stops_every_rank(tmp_path: Path):
    first = Told(rank=0)
    with pytest.raises(NothingToResume):
        RunFolder.for_ranks(tmp_path, resume=True, ranks=first)
    assert first.said == [1]
    with pytest.raises(RunFailed, match="rank 0 failed"):
        RunFolder.for_ranks(tmp_path, resume=True, ranks=Told(rank=1, failed=1))


def test_one_rank_opens_its_folder_and_is_asked_nothing(tmp_path: Path):
    with RunFolder.for_ranks(tmp_path / "run", resume=False, ranks=Unasked()) as run:
        assert run.writes
