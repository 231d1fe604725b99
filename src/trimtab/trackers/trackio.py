"""Trackio: `TRACKIO_PROJECT` names the project, and its own variables the folder or the Space."""

import os
import sys
from collections.abc import Sequence

from trimtab.trackers.tracker import PROJECT, Record, TrackedRun


class Trackio:
    """One run by its name, which Trackio resumes by."""

    def __init__(self, run: TrackedRun) -> None:
        import trackio
        from trackio import run as of_runs
        from trackio import utils as of_all

        for module in (trackio, of_runs, of_all):  # which speak on stdout, where only results belong
            vars(module)["print"] = _print
        self.run_id = run.known_id or f"{run.name}-{run.free_id}"
        self._run = trackio.init(
            project=os.environ.get("TRACKIO_PROJECT", PROJECT),
            name=self.run_id,
            config=dict(run.settings),
            resume="allow",
            embed=False,
        )

    def begin_at(self, step: int) -> None:
        """Rows of later steps stay beside the new ones: Trackio has no way to remove them."""

    def log(self, records: Sequence[Record]) -> None:
        """A row for each step."""
        for record in records:
            self._run.log(dict(record.values), step=record.step)

    def close(self) -> None:
        """Waits until its database has what it was given."""
        self._run.finish()


def _print(*words: object) -> None:
    sys.stderr.write(" ".join(map(str, words)) + "\n")
