"""Turns steps on the device into plain numbers, logs and checkpoints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from trimtab.build import Parts
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.data.ledger import Ledger
from trimtab.distributed.agree import any_rank, broadcast_from_first, micro_batches
from trimtab.finding import Finding
from trimtab.progress import Progress
from trimtab.step.clip.protocol import ReportsDetails
from trimtab.training.checkpointer import Checkpointer
from trimtab.training.health import HealthCheck
from trimtab.training.logger import Logger
from trimtab.training.quarantine import Quarantine
from trimtab.training.skips import Skips
from trimtab.training.step_judge import StepJudge
from trimtab.training.stopwatch import Stopwatch
from trimtab.types import Batch, GlobalBatch, SkipReason, StepReport, TrainState
from trimtab.watch.unseen_tokens import UnseenTokens

STEPS_PER_FLUSH = 10
"""On a GPU reports stay there for so many steps; each look at them waits for it once."""

StepBatches = tuple[GlobalBatch, Sequence[Batch]]


@dataclass(frozen=True, slots=True)
class Pending:
    """A step whose report is still on the device."""

    line: dict[str, Any]
    """Its line of the metrics, as far as it is known."""
    report: StepReport
    window: GlobalBatch
    position: int
    """Where in the stream its window began."""


class Recorder:
    """Keeps the counts of a run up to date; hands what is known to the logger, the judge and the checkpointer."""

    def __init__(
        self,
        folder: RunFolder,
        store: CheckpointStore,
        parts: Parts,
        progress: Progress,
        fingerprints: dict[str, str],
    ) -> None:
        self.parts, self.store, self.progress = parts, store, progress
        self.ranks = parts.stepper.ranks
        self.ledger: Ledger = parts.ledger
        self.must_stop = False
        """Set from outside, by a signal to this process; see `stops`."""
        self.told_to_stop = False
        """Whether any rank had to stop when the newest step was over."""
        self.input_matters = False
        """Whether a validation has seen the loss rise when inputs were exchanged."""
        self.logger = Logger(folder, progress, parts.recipe)
        self.findings = self.logger.findings
        self.judge = StepJudge(
            parts.recipe.guard,
            lambda: HealthCheck(
                parts.model if parts.sharding is None else parts.sharding.local_view(parts.model),
                parts.learning_rate,
                parts.recipe.step.clip,
                unseen=UnseenTokens(parts.task.embedding_rows(parts.recipe, parts.datasets)),
                vocabulary=parts.task.vocabulary(parts.recipe, parts.datasets),
                only=None if parts.placed is None else parts.placed.own_names,
            ),
            Quarantine(self.logger.quarantine, parts),
            tell=self.finding,
        )
        self.checkpointer = Checkpointer(
            folder,
            store,
            model=parts.model,
            optimizer=parts.stepper.optimizer,
            healthy_after=parts.recipe.guard.healthy_after,
            fingerprints=fingerprints,
            findings=self.findings,
            is_on=parts.recipe.checkpoint.write,
            sharding=parts.sharding or parts.placed,
        )
        self.pending: list[Pending] = []
        self.stopwatch = Stopwatch()

    @property
    def skips(self) -> Skips:
        """What became of the steps so far."""
        return self.judge.skips

    @property
    def health(self) -> HealthCheck:
        """How the run is, since it began or resumed."""
        return self.judge.health

    def begin_at(self, state: TrainState) -> None:
        """Goes on from a state, of a checkpoint or of nothing; what was pending is of a branch that was left."""
        self.pending.clear()
        self.findings.step = state.step
        self.judge.begin_at(state)
        self.logger.begin_at(state)
        self.start_clock()

    def start_clock(self) -> None:
        """Time from here on is training; what lay before (an evaluation, a save) is not."""
        self.stopwatch.start()

    def timed(self, batches: Iterable[StepBatches]) -> Iterator[StepBatches]:
        """The same batches; the time that the loop waits for each is added up."""
        return self.stopwatch.timed(batches)

    @property
    def stops(self) -> bool:
        """Whether the loop ends after the step at hand; the same on every rank."""
        return self.must_stop if self.ranks.world_size == 1 else self.told_to_stop

    @property
    def unsettled(self) -> bool:
        """Whether so many steps were refused that it must be decided before the next one what that means.

        Asked where all reports are in, which is at the same steps in a run that was interrupted.
        """
        return self.judge.must_decide and not self.pending

    def after(
        self, state: TrainState, window: GlobalBatch, packs: Sequence[Batch], report: StepReport
    ) -> TrainState:
        """The state after one more step."""
        self.ledger.add(window)
        if self.health.unseen.seen:
            for side, ids in self.parts.task.ids_read(window).items():
                self.health.unseen.add(side, ids)
        position = state.position
        state = replace(
            state,
            step=state.step + 1,
            position=window.position,
            target_tokens=state.target_tokens + window.num_targets,
            tokens=state.tokens + window.num_tokens,
            seconds=broadcast_from_first(state.seconds + self.stopwatch.split(), self.ranks),
        )
        self.findings.step = state.step
        self.told_to_stop = any_rank(self.must_stop, self.ranks)
        num_batches, in_use = micro_batches(packs, self.ranks)
        line = {
            "step": state.step,
            "target_tokens": window.num_targets,
            "tokens": window.num_tokens,
            "micro_batches": num_batches,
            "fill": round(in_use, 4),
            "epoch": round(self.epoch(state), 4),
        }
        self.judge.after_step(report)
        self.pending.append(Pending(line, report, window, position))
        # At the same steps in a run that was interrupted, so that what is decided there is decided at the same.
        waits = report.loss.device.type == "cuda" and state.step % STEPS_PER_FLUSH
        return state if waits else self.flush(state)

    def flush(self, state: TrainState) -> TrainState:
        """Fetches what is pending from the device, writes it down, and brings the counts up to date."""
        if not self.pending:
            return state
        asked = self.stopwatch.now
        numbers = plain_numbers(
            [each.report for each in self.pending], truncates=self.parts.recipe.loss.truncate is not None
        )
        lap = self.stopwatch.lap(asked=asked)
        self.judge.after_lap(lap, step=state.step, count=len(self.pending))
        state = replace(state, seconds=broadcast_from_first(state.seconds + lap.untold, self.ranks))
        memory = gpu_memory(self.parts.device)
        rate = sum(each.line["tokens"] for each in self.pending) / max(1e-9, lap.whole)
        for each, of_step in zip(self.pending, numbers, strict=True):
            skip_reason = SkipReason(int(of_step.pop("skip_reason")))
            state = counted(state, skip_reason, clips=int(of_step["clipped"]))
            line = each.line
            line |= metrics_of(
                of_step, skip_reason, learning_rate=each.report.learning_rate, updates=state.updates
            )
            clip = self.parts.stepper.clip
            if each.report.clip_details is not None and isinstance(clip, ReportsDetails):
                line |= clip.named(each.report.clip_details.tolist())
            line |= {"tokens_per_second": round(rate, 1), "seconds": round(state.seconds, 3), **memory}
            self.logger.step(line)
            self.judge.judge(each.window, skip_reason, line, position=each.position)
        line = self.pending[-1].line
        self.pending.clear()
        self.checkpointer.poll()
        share = self.parts.clock.share(self.parts.recipe.length, state)
        passed = 60 * self.parts.clock.done("minutes", state)
        left = passed / share - passed if 0 < share <= 1 else None
        counts = {"clips": state.clips, "skips": state.skips, "counted": self.parts.recipe.facts.tokens}
        self.progress.step(line | counts, share=min(1.0, share), seconds_left=left)
        return state

    def epoch(self, state: TrainState) -> float:
        """Epochs up to a state, with a fraction."""
        return state.position / self.parts.clock.positions_per_epoch

    def evaluation(self, scores: dict[str, Any]) -> None:
        """One line of `evaluations.jsonl`."""
        self.logger.evaluation(scores)

    def sample(self, sample: dict[str, Any]) -> None:
        """One line of `samples.jsonl`."""
        self.logger.sample(sample)

    def finding(self, finding: Finding) -> None:
        """Writes a finding down and tells it."""
        self.logger.finding(finding)

    def save(self, state: TrainState) -> TrainState:
        """Begins a checkpoint of this state, or ends the run's last one, and brings every log to the disk before it."""
        state = self.flush(state)
        self.logger.flush()
        state = replace(
            state,
            data=self.ledger.to_dict(),
            guard={**self.parts.stepper.to_dict(), **self.judge.to_dict()},
        )
        self.checkpointer.save(state, last=self.stops or self.parts.stop_rule.reached(state))
        self.start_clock()
        return state

    def close(self) -> None:
        """Waits for a save that is under way, and brings the logs to the disk."""
        self.checkpointer.close()
        self.logger.close()


def gpu_memory(device: torch.device) -> dict[str, int]:
    """Bytes that PyTorch has reserved on a GPU now, which is what the planner plans; nothing on a CPU."""
    return {"gpu_memory": torch.cuda.memory_reserved(device)} if device.type == "cuda" else {}


def plain_numbers(reports: list[StepReport], *, truncates: bool) -> list[dict[str, float]]:
    """The numbers of steps by their names, fetched from the device at once."""
    fields = (
        "loss",
        "objective",
        "grad_norm",
        "clipped",
        "skip_reason",
        *(("truncated",) if truncates else ()),
    )
    flat = torch.stack([getattr(report, name).float() for report in reports for name in fields]).tolist()
    size = len(fields)
    return [dict(zip(fields, flat[i : i + size], strict=True)) for i in range(0, len(flat), size)]


def counted(state: TrainState, skip_reason: SkipReason, *, clips: int) -> TrainState:
    """The state with one more verdict in its counts; `clips` is 1 where the whole gradient was clipped."""
    applied = skip_reason == SkipReason.NONE
    return replace(
        state,
        updates=state.updates + applied,
        clips=state.clips + clips,
        skips=state.skips + (not applied),
    )


def metrics_of(
    numbers: dict[str, float], skip_reason: SkipReason, *, learning_rate: float, updates: int
) -> dict[str, Any]:
    """What the numbers of a step add to its line of `metrics.jsonl`."""
    applied = skip_reason == SkipReason.NONE
    line: dict[str, Any] = {
        "updates": updates,
        "loss": numbers["loss"],
        "objective": numbers["objective"],
        "grad_norm": numbers["grad_norm"],
        "clipped": bool(numbers["clipped"]),
        "skipped": not applied,
        "learning_rate": learning_rate,
    }
    line |= {} if applied else {"refused": skip_reason.name.lower()}
    return line | ({"truncated": int(numbers["truncated"])} if "truncated" in numbers else {})
