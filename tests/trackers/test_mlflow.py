"""Against MLflow's own client and file store."""

import pytest

from trimtab.trackers.tracker import Record, TrackedRun

mlflow = pytest.importorskip("mlflow", reason="pip install mlflow-skinny")
pytestmark = pytest.mark.slow


def test_mlflow_has_the_recipe_and_each_step_once_and_resumes_the_run(tmp_path, monkeypatch):
    from trimtab.trackers.mlflow import MOST_METRICS, MLflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    settings = {f"key.{number}": number for number in range(150)} | {"long": "x" * 9000}
    first = MLflow(TrackedRun(tmp_path / "my", settings))
    first.log(
        [Record(step, 100.0, {f"train/{name}": float(step) for name in range(3)}) for step in range(1, 500)]
    )
    first.close()
    again = MLflow(TrackedRun(tmp_path / "my", {"key.1": "changed"}, known_id=first.run_id))
    assert again.run_id == first.run_id
    again.log([Record(500, 101.0, {"train/0": float("nan")})])
    again.close()
    client = mlflow.MlflowClient()
    run = client.get_run(first.run_id)
    assert (run.info.run_name, run.info.status) == ("my", "FINISHED")
    assert len(run.data.params) == 151
    assert [each.step for each in client.get_metric_history(first.run_id, "train/0")] == [*range(1, 501)]
    assert MOST_METRICS < 3 * 499
