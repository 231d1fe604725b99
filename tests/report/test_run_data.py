import json
import os
import shutil

import pytest

from tests.children import start_child, wait
from tests.report.folder_of_a_run import step_line, write_run
from trimtab.checkpoint.lock import LOCK
from trimtab.errors import InputError
from trimtab.report.run_data import is_run, open_run


def test_a_run_is_read_from_its_folder_alone(tmp_path):
    run = open_run(write_run(tmp_path / "my"))
    assert (run.name, run.steps.num_rows, len(run.evaluations), len(run.samples)) == ("my", 300, 3, 9)
    assert run.value("step.clip.at") == 1.0
    assert run.value("step.nothing.here", 7) == 7
    newest = run.checkpoints[-1]
    assert (newest.step, newest.parameters, newest.is_best, newest.is_whole) == (300, 201, True, True)
    assert run.last("step") == 300


def test_what_is_written_later_is_seen_and_only_that_is_read(tmp_path):
    run = open_run(write_run(tmp_path / "my", steps=10))
    assert not run.refresh()
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write(json.dumps(step_line(11)) + "\n")
    assert run.refresh()
    assert run.steps.num_rows == 11


def test_a_run_that_is_deleted_keeps_what_was_read(tmp_path):
    run = open_run(write_run(tmp_path / "my"))
    shutil.rmtree(run.path)
    assert run.refresh()
    assert not run.is_there
    assert run.steps.num_rows == 300
    assert not run.refresh()
    write_run(run.path, steps=5)
    assert run.refresh()
    assert (run.is_there, run.steps.num_rows) == (True, 5)


def test_a_checkpoint_without_one_of_its_files_is_damaged(tmp_path):
    folder = write_run(tmp_path / "my")
    (folder / "checkpoints" / "step-00000300" / "model.safetensors").write_bytes(b"cut")
    assert [each.is_whole for each in open_run(folder).checkpoints] == [True, False]


@pytest.mark.parametrize(
    "name", ["recipe.yaml", "data_ledger.json", "facts.json", "checkpoints/step-00000300/manifest.json"]
)
@pytest.mark.parametrize(
    "content", [b"\x00\xff\xfe", b"[" * 1000, b'{"corpora": 3, "files": [], "tensors": 7}', b"- a\n- b"]
)
def test_a_file_of_nonsense_spoils_no_report(tmp_path, name, content):
    folder = write_run(tmp_path / "my")
    (folder / name).write_bytes(content)
    assert open_run(folder).steps.num_rows == 300


def test_the_newest_lines_are_enough_for_a_table(tmp_path):
    folder = write_run(tmp_path / "my", steps=5000)
    run = open_run(folder, newest_only=True)
    assert run.last("step") == 5000
    assert run.steps.num_rows < 1000


def test_a_folder_with_a_recipe_alone_is_no_run(tmp_path):
    (tmp_path / "recipe.yaml").write_text("task: translation\n")
    assert not is_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mys", "did you mean"),
        ("my@300", "name the run alone"),
        ("file", "is not a run"),
        (".", "did you mean"),
    ],
)
def test_no_run_says_what_is_near(tmp_path, name, said):
    write_run(tmp_path / "my")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=said):
        open_run(tmp_path / name)


def test_a_run_whose_process_was_killed_is_not_training(tmp_path):
    folder = write_run(tmp_path / "run")
    assert open_run(folder).is_training
    child = start_child(lambda: None)
    wait(child)
    os.utime(folder / "metrics.jsonl")  # on a busy machine the child may have taken minutes
    (folder / LOCK).write_text(f"{os.getpid()} on {os.uname().nodename}\n")
    assert open_run(folder).is_training
    (folder / LOCK).write_text(f"{child.pid} on {os.uname().nodename}\n")
    assert not open_run(folder).is_training
