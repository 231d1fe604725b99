"""MLflow, or mlflow-skinny: `MLFLOW_TRACKING_URI` and `MLFLOW_EXPERIMENT_NAME` say where to."""

import os
from collections.abc import Sequence
from typing import Any

from trimtab.trackers.tracker import PROJECT, Record, TrackedRun

MOST_METRICS, MOST_PARAMS, MOST_CHARACTERS = 1000, 100, 500
"""Of one call, by the limits of its REST API, and of one value."""


class MLflow:
    """One run by its id, through a client of its own: `mlflow.start_run` of the calling program is not touched."""

    def __init__(self, run: TrackedRun) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        self._metric = Metric
        self._client: Any = MlflowClient()
        if run.known_id:
            self.run_id = run.known_id
            self._client.update_run(self.run_id, status="RUNNING")
            return
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        self.run_id = self._client.create_run(experiment, run_name=run.name).info.run_id
        params = [Param(key, str(value)[:MOST_CHARACTERS]) for key, value in run.settings.items()]
        for begin in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self.run_id, params=params[begin : begin + MOST_PARAMS])

    def begin_at(self, step: int) -> None:
        """Metrics of later steps stay beside the new ones: MLflow has no way to remove them."""

    def log(self, records: Sequence[Record]) -> None:
        """All numbers in as few calls as its limits allow."""
        metrics = [
            self._metric(key, value, round(record.seconds * 1000), record.step)
            for record in records
            for key, value in record.values.items()
        ]
        for begin in range(0, len(metrics), MOST_METRICS):
            self._client.log_batch(self.run_id, metrics=metrics[begin : begin + MOST_METRICS])

    def close(self) -> None:
        """Marks the run as finished; one that is resumed runs again."""
        self._client.set_terminated(self.run_id)
