"""Experiment trackers that a run is also written to, and the package that each needs.

A tracker is a name in `TrackerName`, its package in `PACKAGES`, and the file of that name in `trimtab.trackers`.
"""

from collections.abc import Mapping
from typing import Literal

TrackerName = Literal["tensorboard", "wandb", "mlflow", "trackio"]

PACKAGES: Mapping[TrackerName, tuple[str, str]] = {
    "tensorboard": ("tensorboard", "tensorboard"),
    "wandb": ("wandb", "wandb"),
    "mlflow": ("mlflow", "mlflow"),
    "trackio": ("trackio", "trackio"),
}
"""The module that is imported, and what `pip install` calls it."""
