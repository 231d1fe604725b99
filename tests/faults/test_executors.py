"""Who makes the data ready, how often the run stops and where, and who dies on the way: the weights are the same."""

import hashlib
import itertools
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tests.data.silence import end_soon
from tests.faults.counting import Count
from tests.faults.killing import logs
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.checkpoint.step_folders import step_name
from trimtab.errors import Terminated
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

STEPS = 60


def weights(run: Path, step: int) -> str:
    file = run / "checkpoints" / step_name(step) / "model.safetensors"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def is_same(run: Path, other: Path, *, step: int = STEPS) -> bool:
    return weights(run, step) == weights(other, step) and logs(run)["metrics"] == logs(other)["metrics"]


def train_with_stops(recipe: Path, run: Path, stops: list[int], *, workers: list[int]) -> None:
    """Trains until each of the steps, then to the end, every time with another number of workers."""
    for stop, number in itertools.zip_longest(stops, workers):
        overrides = [f"data.workers={number}"]

        def watch(step: int, stop: int | None = stop) -> None:
            if step == stop:
                signal.raise_signal(signal.SIGTERM)

        told = Told(watch=watch)
        if stop is None:
            train(recipe, overrides=overrides, out=run, resume=run.exists(), progress=told)
        else:
            with pytest.raises(Terminated):
                train(recipe, overrides=overrides, out=run, resume=run.exists(), progress=told)


@pytest.mark.slow
def test_a_run_may_be_resumed_with_another_number_of_workers(trained_run: Path, tmp_path: Path, count: Count):
    recipe = trained_run.parent / "recipe.yaml"
    train_with_stops(recipe, tmp_path / "run", [13, 29], workers=[2, 1, 0])
    same = is_same(tmp_path / "run", trained_run)
    count("signals", tried=2, held=2 * same, steps_lost=[0, 0])
    assert same


@pytest.mark.slow
def test_a_run_may_be_stopped_at_every_edge(trained_run: Path, tmp_path: Path, count: Count):
    recipe = trained_run.parent / "recipe.yaml"
    epochs = [each["epoch"] for each in logs(trained_run)["metrics"]]
    ends = [step for step, (one, other) in enumerate(itertools.pairwise(epochs), 1) if int(one) < int(other)]
    # One before and one after the ends of two epochs, of the warmup, of an evaluation and of the run.
    stops = sorted(
        {near + end for end in (*ends[:2], 10, 20, STEPS - 1) for near in (-1, 0, 1) if near + end < STEPS}
    )
    train_with_stops(recipe, tmp_path / "run", stops, workers=[0] * (len(stops) + 1))
    same = is_same(tmp_path / "run", trained_run)
    count("signals", tried=len(stops), held=len(stops) * same, steps_lost=[0] * len(stops))
    assert len(stops) > 8
    assert same


@pytest.mark.quick("SIGKILL")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda each: each.name)
def test_a_worker_that_dies_or_stops_changes_nothing(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: Count
):
    end_soon(monkeypatch, seconds=3.0, first=10.0)  # it may be stopped before it gave anything
    hit = []

    def watch(step: int) -> None:
        if step in (2, 12):
            for worker in multiprocessing.active_children():
                os.kill(worker.pid, number)
                hit.append(worker.pid)

    recipe = small_recipe(tmp_path, **{"length": "20 steps", "evaluate.every": "20 steps"})
    undisturbed = train(recipe, out=tmp_path / "undisturbed").run
    train(recipe, overrides=["data.workers=2"], out=tmp_path / "run", progress=Told(watch=watch))
    same = is_same(tmp_path / "run", undisturbed, step=20)
    count("workers lost", tried=len(hit), held=len(hit) * same, steps_lost=[0] * len(hit))
    assert len(hit) >= 2
    assert same
    assert not multiprocessing.active_children()
