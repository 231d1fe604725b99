"""What type checkers see of the parts and the guard; pyright reads it, and nothing runs it."""

from itertools import islice
from pathlib import Path
from typing import Any, assert_type

import torch
from torch import Tensor, nn

import trimtab
from trimtab.guard import Guard, OutlierRule, Verdict
from trimtab.parts import (
    Ragged,
    Terms,
    accumulate_batches,
    chunked_cross_entropy,
    clip_global_norm,
    marks,
    permuted,
    rate_at,
)
from trimtab.types import LossOutput


def own_loop(model: nn.Module, batches: list[Tensor], schedule: str) -> None:
    """A loop as users write it."""

    def loss_of(batch: Tensor) -> Tensor:
        loss: Tensor = model(batch)
        return loss

    loss = accumulate_batches(loss_of, islice(iter(batches), 4), num_targets=len, model=model)
    assert_type(loss, Tensor)
    norm, _ = clip_global_norm(model.parameters(), at=1.0)
    assert_type(norm, Tensor)
    verdict = Guard(OutlierRule(window=32), cap=4).judge(loss, norm)
    assert_type(verdict, Verdict)
    assert_type(verdict.apply, bool)
    out = chunked_cross_entropy(loss, norm, torch.zeros(1), Terms(50, label_smoothing=0.1))
    assert_type(out, LossOutput)
    assert_type(marks(model), dict[str, int])
    assert_type(Ragged.of([[1, 2]]), Ragged)
    assert_type(Terms(50).label_smoothing, float)
    permuted(3, n=5, key=(1,))
    rate_at(schedule, step=0, length=10, warmup=1)  # pyright: ignore[reportArgumentType]
    Guard(32)  # pyright: ignore[reportArgumentType]
    accumulate_batches(loss_of, batches)  # pyright: ignore[reportCallIssue]


def own_runs(recipe: dict[str, Any]) -> None:
    """Calls of a notebook."""
    loaded = trimtab.load_recipe(recipe, {"seed": 2}, allow={"D106": "it learns to copy"})
    result = trimtab.train(loaded, out="runs/my", resume=True, reset="optimizer,data")
    assert_type(result.run, Path)
    assert_type(result.state.step, int)
    assert_type(result.ok, bool)
    table = trimtab.read_metrics(result.run, of="evaluations")
    assert_type(table["loss"], list[Any])
    assert_type(table.num_rows, int)
    assert_type(trimtab.evaluate(result.run, source="dev.en", reference="dev.de").bleu.value, float)
    assert_type([*trimtab.load_translator("runs/my").translate(["Open the file."])], list[str])
    assert_type(trimtab.check("my.yaml").exit_code, int)
    trimtab.set_threads(4)
