"""Whatever somebody puts into a run: nothing executes, nothing is written elsewhere, memory is bounded, it is named."""

import json
import os
import resource
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.checkpoint.hostile import (
    FILES,
    command_on_loading,
    edit_manifest,
    entry,
    put,
    put_zeros,
    surroundings,
    tensor_file,
)
from tests.checkpoint.small_run import assert_whole, save
from tests.children import run_in_child
from trimtab.checkpoint.healthy import HEALTHY
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import InputError, RunFailed
from trimtab.finding import Finding

ALL_FILES = ("manifest.json", *FILES)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")


class World:
    """A folder with a run in it and other things that nobody may touch."""

    def __init__(self, path: Path) -> None:
        self.path, self.run, self.outside = path, path / "run", path / "outside"
        self.sentinel = path / "executed"
        self.outside.mkdir()
        (self.outside / "precious").write_text("mine")
        self.store = CheckpointStore(self.run / "checkpoints", keep=3, tell=lambda _: None)
        save(self.store, 1)
        save(self.store, 2)
        self.bad = self.store.folder / "step-00000002"
        (self.run / "recipe.yaml").write_text("{}\n")

    def damage_found(self) -> str:
        """What is said when the store falls back to checkpoint 1."""
        told: list[Finding] = []
        store = CheckpointStore(self.store.folder, keep=3, tell=told.append)
        newest = store.latest()
        assert newest.step == 1
        assert_whole(newest)
        assert [finding.code for finding in told] == ["K901"]
        return told[0].message


@pytest.fixture
def world(in_memory: Path) -> Iterator[World]:
    world = World(in_memory)
    before = surroundings(world.path, but=world.run)
    yield world
    assert not world.sentinel.exists(), "something was executed"
    assert surroundings(world.path, but=world.run) == before


@pytest.mark.parametrize("file", ALL_FILES)
def test_a_pickle_under_the_name_of_a_file_is_never_loaded(world: World, file: str):
    content = command_on_loading(world.sentinel)
    if file == "manifest.json":
        (world.bad / file).write_bytes(content)
    else:
        put(world.bad, file, content)
    assert f"step-00000002 is not used: {file} " in world.damage_found()


def test_the_pickle_of_these_tests_does_execute_where_it_is_loaded(world: World, in_memory: Path):
    import pickle

    assert pickle.loads(command_on_loading(world.sentinel)) == 0
    assert world.sentinel.exists()
    world.sentinel.unlink()


@pytest.mark.parametrize(
    "name", ["model.pt", "pytorch_model.bin", "sitecustomize.py", "optimizer.npy", "state.yaml"]
)
def test_other_files_beside_the_known_ones_are_named_and_never_read(world: World, name: str):
    (world.bad / name).write_bytes(command_on_loading(world.sentinel))
    os.chmod(world.bad / name, 0)
    told: list[Finding] = []
    newest = CheckpointStore(world.store.folder, keep=3, tell=told.append).latest()
    assert newest.step == 2
    assert_whole(newest)
    assert [finding.message for finding in told] == [f"{name} does not belong to this checkpoint"]


NAMES = [
    "../../../outside/precious",
    "/etc/passwd",
    "model.safetensors\0",
    "..",
    "",
    "a\\b",
    "MODEL.safetensors",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["files", "tensors"])
@pytest.mark.parametrize("whole", [True, False], ids=["besides", "instead"])
def test_a_manifest_can_name_no_other_file(world: World, name: str, place: str, whole: bool):
    fields = json.loads((world.bad / "manifest.json").read_bytes())[place]
    model = fields["model.safetensors"] if whole else fields.pop("model.safetensors")
    edit_manifest(world.bad, **{place: {**fields, name: model}})
    assert "step-00000002 is not used: manifest.json is not a manifest" in world.damage_found()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_tensors_are_names_and_no_paths(world: World, name: str):
    weights = {name: torch.ones(2)}
    saved = world.store.save(
        open_checkpoint(world.bad).load_state(), model=weights, optimizer={}, fingerprints={}
    )
    assert open_checkpoint(saved).load_model().keys() == {name}


def doubled_keys(content: bytes) -> bytes:
    return content.replace(b'"step": 2,\n', b'"step": 2,\n "step": 2,\n')


@pytest.mark.parametrize(
    "spoil",
    [
        doubled_keys,
        lambda content: content.replace(b'"step": 2,', b'"step": ' + b"9" * 5000 + b","),
        lambda content: b"[" * 10**6,
        lambda content: b'{"a":' * 10**5,
        lambda content: b"\xff\xfe" + content,
    ],
    ids=["doubled", "5000 digits", "deep list", "deep object", "UTF-16"],
)
def test_a_manifest_spelt_to_confuse_is_refused(world: World, spoil: Callable[[bytes], bytes]):
    path = world.bad / "manifest.json"
    before = path.read_bytes()
    path.write_bytes(spoil(before))
    assert path.read_bytes() != before
    assert "step-00000002 is not used: manifest.json " in world.damage_found()


@pytest.mark.parametrize(
    "changes",
    [
        {"step": 10**400},
        {"step": -1},
        {"step": 2.0},
        {"step": float("inf")},
        {"step": float("nan")},
        {"step": "2"},
        {"step": True},
        {"format": "1"},
        {"parent": {"step": 10**30, "digest": "0" * 64}},
        {"fingerprints": {"data": ["d1"]}},
        {"extra": 1},
        {"tensors": {}},
    ],
    ids=str,
)
def test_a_manifest_of_impossible_values_is_refused_though_its_hash_is_right(
    world: World, changes: dict[str, object]
):
    edit_manifest(world.bad, **changes)
    assert "step-00000002 is not used: manifest.json " in world.damage_found()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 10**400}, "wrong value"),
        ({"step": -1}, "is no count"),
        ({"step": 3}, "is that of step 3"),
        ({"position": 2**63}, "position: is no count"),
        ({"tokens": -5}, "tokens: is no count"),
        ({"updates": 1.5}, "updates"),
        ({"best": []}, "best"),
        ({"__class__": "os.system"}, "fields of a training state"),
    ],
)
def test_a_state_with_impossible_numbers_is_refused(world: World, changes: dict[str, object], words: str):
    fields = json.loads((world.bad / "state.json").read_bytes())
    put(world.bad, "state.json", json.dumps({**fields, **changes}).encode())
    said = world.damage_found()
    assert "step-00000002 is not used: state.json " in said
    assert words in said or "no count" in said


@pytest.mark.parametrize("content", [b"[" * 10**6, b'{"a":' * 10**5, b"9" * 10**6, b"\0" * 100, b""])
def test_a_state_that_no_parser_should_meet_is_refused(world: World, content: bytes):
    put(world.bad, "state.json", content)
    assert "state.json is not JSON" in world.damage_found()


@pytest.mark.parametrize("best", [10**30, -1, "2", [2], {"step": 2}, None, 1e308])
def test_a_best_step_that_is_none_keeps_and_removes_nothing_else(world: World, best: object):
    fields = json.loads((world.bad / "state.json").read_bytes())
    put(world.bad, "state.json", json.dumps({**fields, "best": {"step": best}}).encode())
    store = CheckpointStore(world.store.folder, keep=1, tell=lambda _: None)
    assert store.latest().step == 2
    assert store.best() is None
    save(store, 3)
    assert list_steps(store.folder) == [3]


HEADERS = {
    "length beyond the file": tensor_file({}, length=10**8),
    "length of 2^64 - 1": tensor_file({}, length=2**64 - 1),
    "empty": b"",
    "only a length": tensor_file(b""),
    "no object": tensor_file([1, 2, 3]),
    "not JSON": tensor_file(b"\x80\x04\x95" + b"x" * 50),
    "deep": tensor_file(b'{"a":' * 10**5),
    "overlapping": tensor_file({"a": entry([2], [0, 8]), "b": entry([2], [4, 12])}, bytes(12)),
    "a hole": tensor_file({"a": entry([1], [0, 4]), "b": entry([1], [8, 12])}, bytes(12)),
    "beyond the end": tensor_file({"a": entry([100], [0, 400])}, bytes(8)),
    "backwards": tensor_file({"a": entry([1], [8, 4])}, bytes(8)),
    "bytes left over": tensor_file({"a": entry([1], [0, 4])}, bytes(400)),
    "wider than its bytes": tensor_file({"a": entry([2], [0, 4], dtype="F64")}, bytes(4)),
    "unknown type": tensor_file({"a": entry([1], [0, 8], dtype="OBJECT")}, bytes(8)),
    "negative shape": tensor_file({"a": entry([-1, -2], [0, 8])}, bytes(8)),
    "huge shape": tensor_file({"a": entry([2**62, 4], [0, 8])}, bytes(8)),
    "shape that wraps to zero": tensor_file({"a": entry([2**32, 2**32], [0, 0])}),
    "fractional shape": tensor_file({"a": entry([1.5], [0, 6])}, bytes(6)),
    "other tensors": tensor_file({"a": entry([2], [0, 8])}, bytes(8)),
    "doubled name": tensor_file(
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
        bytes(8),
    ),
}


@pytest.mark.quick(file=["model.safetensors"])
@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors"])
def test_a_tensor_file_with_a_lying_header_is_refused_though_its_hash_is_right(
    world: World, file: str, name: str
):
    put(world.bad, file, HEADERS[name])
    found = open_checkpoint(world.bad)
    load = found.load_model if file == "model.safetensors" else found.load_optimizer
    with pytest.raises(InputError, match=file):
        load()
    assert f"step-00000002 is not used: {file} " in world.damage_found()


def giant_header(checkpoint: Path) -> None:
    put(checkpoint, "model.safetensors", tensor_file(b'{"a":"' + b" " * 17 * 2**20 + b'"}'))


def many_lists(checkpoint: Path) -> None:
    put(checkpoint, "state.json", b"[" + b"[]," * (6 * 2**20) + b"[]]")


def giant_state(checkpoint: Path) -> None:
    put_zeros(checkpoint, "state.json", 2**30)
    records = json.loads((checkpoint / "manifest.json").read_bytes())["files"]
    edit_manifest(checkpoint, files={**records, "state.json": {"size": 2**30, "sha256": "0" * 64}})


def giant_manifest(checkpoint: Path) -> None:
    put_zeros(checkpoint, "manifest.json", 2**30)


def giant_mark(checkpoint: Path) -> None:
    put_zeros(checkpoint, HEALTHY, 2**30)
    (checkpoint / "state.json").unlink()


@pytest.mark.parametrize("inflate", [giant_header, many_lists, giant_state, giant_manifest, giant_mark])
def test_files_of_any_size_take_little_memory(world: World, inflate: Callable[[Path], None]):
    inflate(world.bad)

    def look_with_little_memory() -> None:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + 2**29, taken + 2**29))
        store = CheckpointStore(world.store.folder, keep=3, tell=lambda _: None)
        assert store.healthy_before(2) is None
        assert store.latest().step == 1

    assert run_in_child(look_with_little_memory) == 0


def pipe(path: Path) -> None:
    os.mkfifo(path)


def server(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def endless_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # as /dev/zero
    except PermissionError:
        pytest.skip("making devices is not permitted here")


def link_outside(path: Path) -> None:
    path.symlink_to(path.parents[3] / "outside" / "precious")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parents[3] / "outside" / "new")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


SPECIAL = [pipe, server, endless_device, link_outside, link_to_nothing, link_to_itself]


@pytest.mark.parametrize("file", ALL_FILES)
@pytest.mark.parametrize("make", SPECIAL)
def test_what_is_no_plain_file_is_never_opened(world: World, make: Callable[[Path], None], file: str):
    (world.bad / file).unlink()
    make(world.bad / file)
    assert f"step-00000002 is not used: {file} is a link, a folder or a device" in world.damage_found()


@pytest.mark.parametrize("make", SPECIAL)
def test_in_the_place_of_a_mark_it_marks_nothing(world: World, make: Callable[[Path], None]):
    make(world.bad / HEALTHY)
    make(world.bad / f".{HEALTHY}.tmp")
    assert world.store.healthy_before(2) is None
    assert world.store.mark_healthy(2)
    assert world.store.healthy_before(2).step == 2


@pytest.mark.parametrize("name", ["step-00000003", ".draft-step-00000003-1-aa", ".trash-step-00000003-aa"])
@pytest.mark.parametrize("make", SPECIAL)
def test_in_the_place_of_a_folder_it_is_not_followed(world: World, make: Callable[[Path], None], name: str):
    make(world.store.folder / name)
    store = CheckpointStore(world.store.folder, keep=1, tell=lambda _: None)
    assert store.latest().step == 2
    save(store, 3)
    assert_whole(store.latest())


def test_a_link_in_the_place_of_a_folder_to_a_checkpoint_elsewhere_is_not_followed(in_memory: Path):
    world, other = World(in_memory), in_memory / "outside" / "step-00000003"
    elsewhere = CheckpointStore(in_memory / "elsewhere", keep=1)
    os.rename(save(elsewhere, 3), other)
    for name in ("step-00000003", ".draft-step-00000003-1-aa", ".trash-step-00000003-aa"):
        (world.store.folder / name).symlink_to(other)
    before = surroundings(world.path, but=world.run)
    store = CheckpointStore(world.store.folder, keep=1, tell=lambda _: None)
    assert store.latest().step == 2
    save(store, 4)
    assert list_steps(store.folder) == [4]
    assert surroundings(world.path, but=world.run) == before


def test_a_link_in_the_place_of_all_checkpoints_is_refused(world: World):
    shutil.rmtree(world.store.folder)
    world.store.folder.symlink_to(world.outside)
    with pytest.raises(InputError, match="checkpoints is a link"):
        CheckpointStore(world.store.folder, keep=1)
    with pytest.raises(InputError, match="checkpoints of the run is not a folder"):
        RunFolder.open(world.run)


def test_a_link_where_a_damaged_checkpoint_is_to_be_set_aside_is_not_followed(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    class Known:
        hex = "0" * 32

    monkeypatch.setattr("trimtab.checkpoint.step_folders.uuid.uuid4", Known)
    (world.bad / "state.json").write_bytes(b"")
    for target in ("corrupt", "trash", "abandoned"):
        (world.store.folder / f".{target}-step-00000002-00000000").symlink_to(world.outside)
    assert "state.json has 0 bytes" in world.damage_found()


@pytest.mark.parametrize("file", ALL_FILES)
def test_files_that_are_elsewhere_too_are_never_written_into(in_memory: Path, file: str):
    world = World(in_memory)
    os.link(world.bad / file, world.outside / "twin")
    before = (world.outside / "twin").read_bytes()
    store = CheckpointStore(world.store.folder, keep=1, tell=lambda _: None)
    assert store.mark_healthy(2)
    save(store, 2, seconds=3.0)
    save(store, 3)
    assert list_steps(store.folder) == [2, 3]
    assert (world.outside / "twin").read_bytes() == before


def be_nobody() -> None:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


@pytest.fixture
def opened(world: World) -> World:
    """The same, in a place that everybody can get to."""
    for path in (world.path, world.run, world.store.folder, world.bad):
        os.chmod(path, 0o755)
    return world


@as_root
def test_what_somebody_else_owns_is_read_where_that_is_permitted_and_not_written(opened: World):
    def look() -> None:
        be_nobody()
        found = resolve_checkpoint(f"{opened.run}@2")
        found.verify()
        assert_whole(found)
        store = CheckpointStore(opened.store.folder, keep=1, tell=lambda _: None)
        assert store.latest().step == 2
        with pytest.raises(RunFailed, match="checkpoint step-00000003 cannot be written: Permission denied"):
            save(store, 3)
        assert not store.mark_healthy(2)

    before = surroundings(opened.run, but=opened.outside)
    assert run_in_child(look) == 0
    assert surroundings(opened.run, but=opened.outside) == before


@as_root
@pytest.mark.parametrize("name", [*ALL_FILES, ""])
def test_what_may_not_be_read_is_said_and_neither_taken_for_damage_nor_passed_over(opened: World, name: str):
    os.chmod(opened.bad / name, 0)

    def look() -> None:
        be_nobody()
        store = CheckpointStore(opened.store.folder, keep=1, tell=lambda _: None)
        with pytest.raises(InputError, match="step-00000002 cannot be read: Permission denied"):
            store.latest()

    assert run_in_child(look) == 0
    assert list_steps(opened.store.folder) == [1, 2]


@as_root
def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(opened: World):
    os.chmod(opened.store.folder, 0)

    def look() -> None:
        be_nobody()
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            CheckpointStore(opened.store.folder, keep=1, tell=lambda _: None)

    assert run_in_child(look) == 0
