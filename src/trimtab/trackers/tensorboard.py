"""TensorBoard: event files in `RUN/tensorboard`, written by its own package without TensorFlow."""

import time
from collections.abc import Sequence

from trimtab.trackers.tracker import Record, TrackedRun

FOLDER = "tensorboard"


class TensorBoard:
    """One event file for each process of a run; TensorBoard reads the files of a folder as one run."""

    def __init__(self, run: TrackedRun) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.run_id = FOLDER
        self._events, self._summaries = event_pb2, summary_pb2
        self._writer = EventFileWriter(str(run.folder / FOLDER))

    def begin_at(self, step: int) -> None:
        """TensorBoard drops what it has read of later steps when it sees this event."""
        start = self._events.SessionLog(status=self._events.SessionLog.START)
        self._writer.add_event(self._events.Event(step=step + 1, wall_time=time.time(), session_log=start))

    def log(self, records: Sequence[Record]) -> None:
        """A scalar for each number."""
        make = self._summaries.Summary
        for record in records:
            values = [make.Value(tag=tag, simple_value=value) for tag, value in record.values.items()]
            event = self._events.Event(step=record.step, wall_time=record.seconds, summary=make(value=values))
            self._writer.add_event(event)
        self._writer.flush()

    def close(self) -> None:
        """Ends its file."""
        self._writer.close()
