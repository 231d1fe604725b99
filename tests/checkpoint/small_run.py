"""A run so small that saving it takes milliseconds, and whose content follows from its step."""

from pathlib import Path

import torch

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.store import CheckpointStore
from trimtab.types import TrainState

FINGERPRINTS = {"data": "d1", "tokenizer": "t1", "recipe.seed": "1"}


def model_at(step: int) -> dict[str, torch.Tensor]:
    return {
        "encoder.weight": torch.arange(12, dtype=torch.float32).reshape(3, 4) + step,
        "embedding": torch.full((5, 2), step, dtype=torch.bfloat16),
        "scale": torch.tensor(float(step)),
    }


def optimizer_at(step: int) -> dict[str, torch.Tensor]:
    return {"encoder.weight.moment": torch.full((3, 4), step / 7), "steps": torch.tensor([step])}


def state_at(step: int, *, best: int | None = None, seconds: float = 0.25) -> TrainState:
    found = {} if best is None else {"set": "dev", "metric": "chrf", "value": 51.5, "step": best}
    return TrainState(step=step, updates=step, position=10 * step, seconds=seconds, best=found)


def save(store: CheckpointStore, step: int, *, best: int | None = None, seconds: float = 0.25) -> Path:
    return store.save(
        state_at(step, best=best, seconds=seconds),
        model=model_at(step),
        optimizer=optimizer_at(step),
        fingerprints=FINGERPRINTS,
    )


def assert_whole(checkpoint: Checkpoint) -> None:
    """Every number is that of the checkpoint's own step: nothing is torn, and nothing mixed."""
    step = checkpoint.step
    assert checkpoint.load_state().position == 10 * step
    assert_equal(checkpoint.load_model(), model_at(step))
    assert_equal(checkpoint.load_optimizer(), optimizer_at(step))


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, by its path in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
