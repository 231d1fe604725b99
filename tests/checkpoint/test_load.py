import os
from pathlib import Path

import pytest
import torch

from tests.checkpoint.small_run import assert_whole, save, state_at
from trimtab.checkpoint import load as loading
from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.manifest import Damaged, render
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import InputError


@pytest.fixture
def folder(in_memory: Path) -> Path:
    return save(CheckpointStore(in_memory / "checkpoints", keep=3), 1)


def rewrite_manifest(folder: Path, **changed: object) -> None:
    """A manifest with a right hash, as somebody who means harm would write it."""
    fields = open_checkpoint(folder).manifest.model_dump(mode="json", by_alias=True, exclude={"digest"})
    (folder / "manifest.json").write_bytes(render({**fields, **changed}))


def test_opening_reads_no_tensors_and_loading_does(folder: Path, monkeypatch: pytest.MonkeyPatch):
    hashed: list[str] = []
    digest = loading.hashlib.file_digest
    monkeypatch.setattr(
        loading.hashlib,
        "file_digest",
        lambda file, kind: hashed.append(Path(file.name).name) or digest(file, kind),
    )
    found = open_checkpoint(folder)
    assert hashed == []
    found.load_model()
    found.load_model()
    assert hashed == ["model.safetensors"]
    assert_whole(found)


def test_nothing_is_parsed_before_its_hash_is_right(folder: Path, monkeypatch: pytest.MonkeyPatch):
    found = open_checkpoint(folder)
    for name in ("model.safetensors", "state.json"):
        path = folder / name
        path.write_bytes(b"X" * path.stat().st_size)
    monkeypatch.setattr(loading, "read_tensors", must_not_run)
    monkeypatch.setattr(loading, "parse_state", must_not_run)
    for load in (found.load_model, found.load_state, found.verify):
        with pytest.raises(Damaged, match="the manifest says"):
            load()


def must_not_run(_: object) -> None:
    raise AssertionError("parsed before it was verified")


def test_tensors_must_be_those_of_the_manifest(folder: Path):
    manifest = open_checkpoint(folder).manifest.model_dump(mode="json", by_alias=True)
    manifest["tensors"]["model.safetensors"]["scale"]["shape"] = [1]
    rewrite_manifest(folder, tensors=manifest["tensors"])
    with pytest.raises(Damaged, match=r"model\.safetensors holds other tensors than the manifest says"):
        open_checkpoint(folder).load_model()


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
def test_junk_under_a_right_hash_is_damage_and_runs_nothing(folder: Path, name: str):
    junk = b"\x80\x04cposix\nsystem\n(X\x05\x00\x00\x00falset R."
    (folder / name).unlink()
    written = loading.hashlib.sha256(junk).hexdigest()
    files = {
        each: record.model_dump()
        for each, record in Checkpoint(folder, parsed_manifest(folder)).manifest.files.named().items()
    }
    (folder / name).write_bytes(junk)
    files[name] = {"size": len(junk), "sha256": written}
    fields = parsed_manifest(folder).model_dump(mode="json", by_alias=True, exclude={"digest"})
    (folder / "manifest.json").write_bytes(render({**fields, "files": files}))
    found = open_checkpoint(folder)
    loads = {"model.safetensors": found.load_model, "optimizer.safetensors": found.load_optimizer}
    with pytest.raises(Damaged, match=name):
        loads.get(name, found.load_state)()


def parsed_manifest(folder: Path):
    return loading.manifests.parse((folder / "manifest.json").read_bytes(), checkpoint=folder)


def test_a_checkpoint_that_is_removed_while_it_is_read_is_said_to_be_missing(folder: Path):
    found = open_checkpoint(folder)
    os.rename(folder, folder.with_name(".trash-step-00000001-ab"))
    with pytest.raises(Damaged, match=r"model\.safetensors is missing"):
        found.load_model()


def test_a_file_that_may_not_be_read_is_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch):
    found = open_checkpoint(folder)
    monkeypatch.setattr(loading.hashlib, "file_digest", not_permitted)
    with pytest.raises(
        InputError, match=r"model\.safetensors of checkpoint step-00000001 cannot be read"
    ) as caught:
        found.load_model()
    assert not isinstance(caught.value, Damaged)


def not_permitted(*_: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_a_disk_that_fails_to_read_is_damage(folder: Path, monkeypatch: pytest.MonkeyPatch):
    found = open_checkpoint(folder)
    monkeypatch.setattr(loading.hashlib, "file_digest", fails_to_read)
    with pytest.raises(Damaged, match=r"model\.safetensors cannot be read: Input/output error"):
        found.load_model()


def fails_to_read(*_: object) -> None:
    raise OSError(5, "Input/output error")


def test_an_optimizer_that_keeps_nothing_loads_as_nothing(in_memory: Path):
    store = CheckpointStore(in_memory / "checkpoints", keep=1)
    store.save(state_at(1), model={"a": torch.zeros(2)}, optimizer={}, fingerprints={})
    assert store.latest().load_optimizer() == {}
