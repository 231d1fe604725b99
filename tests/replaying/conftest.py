import itertools
from pathlib import Path

import pytest
import torch

from tests.one_epoch_run import BROKEN_STEP, one_epoch_recipe, windows_of
from tests.shared_folder import shared_folder
from tests.unchecked import model_unchecked
from trimtab.launch import train
from trimtab.step.stepper import Stepper

POKED_AFTER = 52
"""The step after which the weights of `rewound_run` were overwritten."""
REWINDS = {
    "guard": {"window": 24, "active_from": 16, "healthy_after": 10, "loss_deviations": 6.0},
    "checkpoint.every": "10 steps",
    "checkpoint.keep": 2,
}
"""What a run of one epoch needs to go back in time."""


@pytest.fixture(scope="session")
def healthy_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one epoch, with checkpoints of each 20th step; nothing may be changed in it."""

    def make(folder: Path) -> None:
        with model_unchecked():
            train(one_epoch_recipe(folder), out=folder / "run")

    return shared_folder(tmp_path_factory, "healthy", make) / "run"


@pytest.fixture(scope="session")
def broken_run(healthy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """The same with one broken line: its folder, the line (from 1), and the step that met it."""
    window = next(itertools.islice(windows_of(healthy_run), BROKEN_STEP - 1, None))
    line = int(window.line[10]) + 1
    folder = tmp_path_factory.mktemp("broken")
    strict = {"guard": {"window": 24, "active_from": 16, "loss_deviations": 4.0, "norm_deviations": 6.0}}
    with model_unchecked():
        run = train(one_epoch_recipe(folder, broken_line=line, **strict), out=folder / "run").run
    step = next(step for step, window in enumerate(windows_of(run), 1) if line - 1 in window.line.tolist())
    return run, line, step


@pytest.fixture(scope="session")
def rewound_run(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose weights were overwritten once, after step 52, and which went back to step 40 for it; a checkpoint of
    step 50 is set aside. Nothing may be changed in it."""
    begin, left = Stepper.begin, [1]

    def poked(stepper, state):
        if state.step == POKED_AFTER and left[0]:
            left[0] -= 1
            with torch.no_grad():
                next(iter(stepper.objective.model.parameters())).view(-1)[:500] = 40.0
        begin(stepper, state)

    def make(folder: Path) -> None:
        with model_unchecked(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Stepper, "begin", poked)
            train(one_epoch_recipe(folder, **REWINDS), out=folder / "run")

    return shared_folder(tmp_path_factory, "rewound", make) / "run"
