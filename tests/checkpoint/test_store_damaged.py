"""Whatever happens to the files of a checkpoint, it is noticed, named, set aside, and the older one is taken."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoint.small_run import assert_whole, save
from trimtab.checkpoint import manifest as manifests
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.store import CheckpointStore
from trimtab.finding import Finding

FILES = ("manifest.json", "model.safetensors", "optimizer.safetensors", "state.json")


@pytest.fixture
def folder(in_memory: Path) -> Path:
    """Checkpoints 1 and 2; the tests damage 2."""
    store = CheckpointStore(in_memory / "checkpoints", keep=3)
    save(store, 1)
    save(store, 2)
    return store.folder


def newest_step_and_reason(folder: Path) -> tuple[int, str]:
    told: list[Finding] = []
    store = CheckpointStore(folder, keep=3, tell=told.append)
    newest = store.latest()
    assert newest is not None
    assert_whole(newest)
    assert all(finding.code == "K901" for finding in told)
    for finding in told:
        assert Path(finding.where).name.startswith(".corrupt-step-00000002-")
        assert not (folder / "step-00000002").exists()
    return newest.step, " ".join(finding.message for finding in told)


@pytest.mark.quick("manifest.json", "optimizer.safetensors")
@pytest.mark.parametrize("file", FILES)
def test_every_flipped_bit_is_noticed(folder: Path, file: str):
    dice = random.Random(file)
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    for _ in range(60):
        path = folder / "step-00000002" / file
        content = bytearray(path.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path.write_bytes(content)
        step, reason = newest_step_and_reason(folder)
        assert step == 1
        assert file in reason
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)


@pytest.mark.parametrize("file", FILES)
def test_a_file_cut_off_anywhere_is_noticed(folder: Path, file: str):
    content = (folder / "step-00000002" / file).read_bytes()
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    for length in {*(len(content) * tenth // 10 for tenth in range(10)), len(content) - 1}:
        (folder / "step-00000002" / file).write_bytes(content[:length])
        step, reason = newest_step_and_reason(folder)
        assert step == 1
        assert file in reason
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)


def zero_the_tail(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-8] + bytes(8))


def add_a_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def link_to_itself_elsewhere(path: Path) -> None:
    copy = path.parents[2] / "elsewhere"
    os.rename(path, copy)
    path.symlink_to(copy)


def turn_into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def take_that_of_the_other_step(path: Path) -> None:
    shutil.copy(path.parents[1] / "step-00000001" / path.name, path)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (Path.unlink, "is missing"),
        (zero_the_tail, ""),
        (add_a_byte, ""),
        (link_to_itself_elsewhere, "is a link"),
        (turn_into_a_folder, "not a plain file"),
        (take_that_of_the_other_step, ""),
    ],
)
def test_other_damage_is_noticed(folder: Path, damage: Callable[[Path], None], words: str, file: str):
    damage(folder / "step-00000002" / file)
    step, reason = newest_step_and_reason(folder)
    assert step == 1
    assert f"step-00000002 is not used: {file} " in reason
    assert words in reason


def test_a_checkpoint_under_the_name_of_another_step_is_refused(folder: Path):
    shutil.copytree(folder / "step-00000001", folder / "step-00000009")
    told: list[Finding] = []
    assert CheckpointStore(folder, keep=3, tell=told.append).latest().step == 2
    assert "step-00000009 is not used: manifest.json is that of step 1" in told[0].message


def test_a_linked_checkpoint_folder_is_refused_and_what_it_points_to_left_alone(folder: Path):
    outside = folder.with_name("outside")
    os.rename(folder / "step-00000002", outside)
    (folder / "step-00000002").symlink_to(outside)
    assert newest_step_and_reason(folder)[0] == 1
    assert (outside / "manifest.json").exists()


def test_a_file_under_the_name_of_a_checkpoint_is_refused(folder: Path):
    shutil.rmtree(folder / "step-00000002")
    (folder / "step-00000002").write_text("junk")
    assert newest_step_and_reason(folder) == (
        1,
        "step-00000002 is not used: folder is a link or a file, not a folder",
    )


@pytest.mark.parametrize(
    "name", ["step-2", "step-0000000000000003", "step-abcdefgh", "step-00000003.old", "notes"]
)
def test_names_that_are_not_ours_are_left_alone(folder: Path, name: str):
    (folder / name).mkdir()
    assert newest_step_and_reason(folder) == (2, "")
    assert (folder / name).exists()


def test_a_file_too_many_is_named_and_otherwise_ignored(folder: Path):
    (folder / "step-00000002" / "notes.txt").write_text("mine")
    (folder / "step-00000002" / ".DS_Store").write_text("the machine's")
    told: list[Finding] = []
    assert CheckpointStore(folder, keep=3, tell=told.append).latest().step == 2
    assert [finding.message for finding in told] == ["notes.txt does not belong to this checkpoint"]


def test_a_checkpoint_of_a_newer_trimtab_is_left_out_but_not_touched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "FORMAT", manifests.FORMAT + 1)
        path = folder / "step-00000002" / "manifest.json"
        fields = manifests.json.loads(path.read_bytes())
        fields.pop("digest")
        path.write_bytes(manifests.render({**fields, "format": manifests.FORMAT}))
    told: list[Finding] = []
    store = CheckpointStore(folder, keep=3, tell=told.append)
    assert store.latest().step == 1
    assert [finding.code for finding in told] == ["K902"]
    assert path.exists()
    save(store, 2)
    assert store.latest().step == 2


def test_a_quarantine_that_fails_still_takes_the_older_one(folder: Path, monkeypatch: pytest.MonkeyPatch):
    add_a_byte(folder / "step-00000002" / "state.json")
    told: list[Finding] = []
    store = CheckpointStore(folder, keep=3, tell=told.append)
    monkeypatch.setattr(os, "rename", refuse)
    assert store.latest().step == 1
    assert [finding.code for finding in told] == ["K901"]


def refuse(*_: object) -> None:
    raise OSError(30, "Read-only file system")


def test_damage_after_opening_is_noticed_on_loading(folder: Path):
    found = open_checkpoint(folder / "step-00000002")
    zero_the_tail(folder / "step-00000002" / "optimizer.safetensors")
    found.load_model()
    with pytest.raises(manifests.Damaged, match=r"optimizer\.safetensors has the sha256"):
        found.load_optimizer()
