"""What a run asks of the machine before it begins: memory, room on the disk, how products are made."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from tests.small_run import small_recipe
from tests.test_launch import SHORT, log
from trimtab import launch
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.config.load import load_recipe
from trimtab.errors import NoRoom, RunFailed
from trimtab.launch import set_arithmetic, train
from trimtab.training.preflight.every_check import of_the_data


@pytest.fixture(autouse=True)
def checks_of_data_only(monkeypatch):
    monkeypatch.setattr(launch, "preflight", of_the_data)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 99 bytes\nmore")],
)
def test_a_model_that_does_not_fit_into_memory_is_told_with_its_sizes(tmp_path, monkeypatch, error):
    def build(*_):
        raise error

    monkeypatch.setattr(launch, "build", build)
    with pytest.raises(
        RunFailed, match=r"the model does not fit into memory: .*\n.*dim 32, .*\n.*preset: small"
    ) as told:
        train(small_recipe(tmp_path, **SHORT), out=tmp_path / "run")
    assert "more\n" not in str(told.value)


@pytest.mark.parametrize("changes", [{}, {"step.precision": "bf16"}, {"step.ema": {}}], ids=str)
def test_room_is_asked_for_at_least_what_a_checkpoint_takes(tmp_path, monkeypatch, changes):
    asked = []
    monkeypatch.setattr(launch.CheckpointStore, "check_room", lambda store, size: asked.append(size))
    run = train(small_recipe(tmp_path, **SHORT | changes), out=tmp_path / "run").run
    saved = max(list_steps(run / "checkpoints"))
    files = (run / "checkpoints" / step_name(saved)).glob("*.safetensors")
    tensors = [tensor for file in files for tensor in load_file(file).values()]
    assert asked[0] >= sum(tensor.nbytes for tensor in tensors)


def test_a_disk_without_room_for_one_checkpoint_is_told_before_the_first_step(tmp_path, monkeypatch):
    free = shutil.disk_usage(tmp_path)._replace(free=10_000)
    monkeypatch.setattr("trimtab.checkpoint.room.shutil.disk_usage", lambda _: free)
    with pytest.raises(NoRoom):
        train(small_recipe(tmp_path, **SHORT), out=tmp_path / "run")
    assert list(log(tmp_path / "run", "metrics")) == []


def test_products_of_float32_are_rounded_only_where_tf32_is_named(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path)).recipe
    before = torch.get_float32_matmul_precision()
    try:
        for precision, expected in (("tf32", "high"), ("fp32", "highest"), ("auto", "highest")):
            step = recipe.step.model_copy(update={"precision": precision})
            set_arithmetic(recipe.model_copy(update={"step": step}))
            assert torch.get_float32_matmul_precision() == expected
    finally:
        torch.set_float32_matmul_precision(before)


def test_deterministic_kernels_are_asked_for(tmp_path):
    try:
        train(small_recipe(tmp_path, **SHORT, **{"step.deterministic": True}), out=tmp_path / "run")
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
