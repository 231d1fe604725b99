"""Against TensorBoard's own reader."""

import pytest

from trimtab.trackers.tracker import Record, TrackedRun

reader = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="pip install tensorboard"
)


def test_tensorboard_reads_what_was_logged_and_forgets_what_a_resume_repeats(tmp_path):
    from trimtab.trackers.tensorboard import TensorBoard

    first = TensorBoard(TrackedRun(tmp_path, {}))
    first.begin_at(0)
    first.log([Record(step, 100.0 + step, {"train/loss": 9.0 - step}) for step in range(1, 7)])
    first.close()
    again = TensorBoard(TrackedRun(tmp_path, {}, known_id=first.run_id))
    again.begin_at(4)
    again.log([Record(step, 200.0 + step, {"train/loss": 1.0, "dev/chrf": 48.0}) for step in range(5, 8)])
    again.close()
    found = reader.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert [(each.step, each.value) for each in found.Scalars("train/loss")] == [
        *((step, 9.0 - step) for step in range(1, 5)),
        *((step, 1.0) for step in range(5, 8)),
    ]
    assert found.Scalars("train/loss")[0].wall_time == 101.0
    assert [each.step for each in found.Scalars("dev/chrf")] == [5, 6, 7]
