"""Weights & Biases: where its own environment variables say; without a key offline, in `RUN/wandb`."""

import netrc
import os
from collections.abc import Sequence
from urllib.parse import urlparse

from trimtab.trackers.tracker import PROJECT, Record, TrackedRun


class WeightsAndBiases:
    """One run by its id, resumed where it was begun before."""

    def __init__(self, run: TrackedRun) -> None:
        import wandb

        self.run_id = run.known_id or run.free_id
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=self.run_id,
            name=os.environ.get("WANDB_NAME", run.name),
            dir=str(run.folder),
            config=dict(run.settings),
            resume="allow",
            mode=None if "WANDB_MODE" in os.environ or has_key() else "offline",
            # The console belongs to trimtab, and no question may wait for an answer.
            settings=wandb.Settings(silent=True, console="off"),
        )
        # Its own counter of steps only grows and drops what comes again after a resume; so `step` is a number.
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def begin_at(self, step: int) -> None:
        """The points of later steps stay beside the new ones: only its server could cut them off."""

    def log(self, records: Sequence[Record]) -> None:
        """A row for each step."""
        for record in records:
            self._run.log({**record.values, "step": record.step, "_timestamp": record.seconds})

    def close(self) -> None:
        """Waits until its service has what it was given."""
        self._run.finish()


def has_key() -> bool:
    """Whether wandb could log in without a prompt."""
    if any(os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
