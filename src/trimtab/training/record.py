"""What a run writes down: metrics, evaluations, findings, the ledger, checkpoints; and the counts that it keeps."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from trimtab.build import Parts
from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.data.ledger import Ledger
from trimtab.finding import Finding
from trimtab.flow import Pack, Refusal, StepReport, TrainState, Window, fill
from trimtab.progress import Progress
from trimtab.training.findings import Findings
from trimtab.training.health import HealthCheck
from trimtab.training.quarantine import Quarantine
from trimtab.training.refusals import Refusals
from trimtab.training.saving import Saving
from trimtab.training.stall import Stalls

STEPS_PER_FLUSH = 10
"""On a GPU reports stay there for so many steps; each look at them waits for it once."""

Batch = tuple[Window, list[Pack]]


@dataclass(frozen=True, slots=True)
class Pending:
    """A step whose report is still on the device."""

    line: dict[str, Any]
    """Its line of the metrics, as far as it is known."""
    report: StepReport
    window: Window
    position: int
    """Where in the stream its window began."""


class Recorder:
    """Turns finished steps into plain numbers and files; the only one who reads the clock."""

    def __init__(
        self,
        folder: RunFolder,
        store: CheckpointStore,
        parts: Parts,
        progress: Progress,
        fingerprints: dict[str, str],
    ) -> None:
        self.folder, self.store, self.parts, self.progress = folder, store, parts, progress
        self.ledger: Ledger = parts.ledger
        self.must_stop = False
        """Set from outside, by a signal; the loop ends after the step at hand."""
        self.source_matters = False
        """Whether a validation has seen the loss rise when sources were exchanged."""
        self.findings = Findings(folder, progress)
        self.refusals = Refusals(parts.recipe.guard)
        self.saving = Saving(folder, store, parts, fingerprints, self.findings)
        self.metrics = Journal(folder.metrics, tell=self.finding)
        self.evaluations = Journal(folder.evaluations, tell=self.finding)
        self.samples = Journal(folder.samples, tell=self.finding)
        self.quarantine = Quarantine(Journal(folder.quarantine, tell=self.finding), parts)
        self.health_log = Journal(folder.health, tell=self.finding)
        self.pending: list[Pending] = []
        self.health = HealthCheck(parts)
        self.stalls = Stalls()
        self.start_clock()

    def begin_at(self, state: TrainState) -> None:
        """Goes on from a state, of a checkpoint or of nothing; what was pending is of a branch that was left."""
        self.pending.clear()
        self.findings.step = state.step
        self.refusals = Refusals(self.parts.recipe.guard)
        self.refusals.from_dict(state.guard.get("refusals", {}), masked=state.guard.get("masked", []))
        self.health = HealthCheck(self.parts)
        self.start_clock()

    def start_clock(self) -> None:
        """Time from here on is training; what lay before (an evaluation, a save) is not."""
        self.mark = self.flushed_at = time.perf_counter()
        self.waited = 0.0

    def timed(self, windows: Iterable[Batch]) -> Iterator[Batch]:
        """The same windows; the time that the loop waits for each is added up."""
        windows = iter(windows)
        while True:
            asked = time.perf_counter()
            batch = next(windows, None)
            if batch is None:
                return
            self.waited += time.perf_counter() - asked
            yield batch

    @property
    def unsettled(self) -> bool:
        """Whether so many steps were refused that somebody must decide before the next one.

        Asked where all reports are in, which is at the same steps in a run that was interrupted.
        """
        return self.refusals.must_decide and not self.pending

    def after(self, state: TrainState, window: Window, packs: list[Pack], report: StepReport) -> TrainState:
        """The state after one more step."""
        self.ledger.add(window)
        now, position = time.perf_counter(), state.position
        state = replace(
            state,
            step=state.step + 1,
            position=window.position,
            target_tokens=state.target_tokens + window.num_targets,
            tokens=state.tokens + window.num_tokens,
            seconds=state.seconds + now - self.mark,
        )
        self.mark, self.findings.step = now, state.step
        line = {"step": state.step, "target_tokens": window.num_targets, "tokens": window.num_tokens}
        line |= {
            "micro_batches": len(packs),
            "fill": round(fill(packs), 4),
            "epoch": round(self.epoch(state), 4),
        }
        self.health.after_step(report)
        self.pending.append(Pending(line, report, window, position))
        # At the same steps in a run that was interrupted, so that what is decided there is decided at the same.
        waits = report.loss.device.type == "cuda" and state.step % STEPS_PER_FLUSH
        return state if waits else self.flush(state)

    def flush(self, state: TrainState) -> TrainState:
        """Fetches what is pending from the device, writes it down, and brings the counts up to date."""
        if not self.pending:
            return state
        fields = ("loss", "objective", "grad_norm", "clipped", "refusal")
        fields += ("truncated",) if self.parts.recipe.loss.truncate else ()
        asked = time.perf_counter()
        numbers = torch.stack([getattr(p.report, f).float() for p in self.pending for f in fields]).tolist()
        now = time.perf_counter()
        self.health.waiting.add(
            steps=len(self.pending),
            seconds=now - self.flushed_at,
            waited=self.waited,
            device=now - asked,
        )
        stalled = self.stalls.after(
            state.step, count=len(self.pending), seconds=now - self.flushed_at, waited=self.waited
        )
        if stalled:
            self.finding(stalled)
        state = replace(state, seconds=state.seconds + now - self.mark)
        rate = sum(each.line["tokens"] for each in self.pending) / max(1e-9, now - self.flushed_at)
        self.mark = self.flushed_at = now
        self.waited = 0.0
        for i, each in enumerate(self.pending):
            loss, objective, grad_norm, clipped, code, *truncated = numbers[
                i * len(fields) : (i + 1) * len(fields)
            ]
            refusal, line = Refusal(int(code)), each.line
            applied = refusal == Refusal.NONE
            state = replace(
                state,
                updates=state.updates + applied,
                clips=state.clips + int(clipped),
                skips=state.skips + (not applied),
            )
            line |= {"updates": state.updates, "loss": loss, "objective": objective, "grad_norm": grad_norm}
            line |= {
                "clipped": bool(clipped),
                "skipped": not applied,
                "learning_rate": each.report.learning_rate,
            }
            line |= {} if applied else {"refused": refusal.name.lower()}
            line |= {"truncated": int(truncated[0])} if truncated else {}
            line |= {"tokens_per_second": round(rate, 1), "seconds": round(state.seconds, 3)}
            self.metrics.write(line)
            self.health.after_flush(
                grad_norm=grad_norm,
                clipped=clipped,
                applied=applied,
                learning_rate=each.report.learning_rate,
            )
            self.judged(each, refusal, loss=loss, grad_norm=grad_norm)
        line = self.pending[-1].line
        self.pending.clear()
        self.saving.poll()
        share = self.parts.pace.share(self.parts.recipe.length, state)
        left = state.seconds / share - state.seconds if 0 < share <= 1 else None
        self.progress.step(line, share=min(1.0, share), seconds_left=left)
        return state

    def judged(self, each: Pending, refusal: Refusal, *, loss: float, grad_norm: float) -> None:
        """Counts the verdict on a step, and tells what there is to be told of it."""
        step = each.line["step"]
        for finding in self.refusals.after(
            refusal, step=step, position=each.position, loss=loss, grad_norm=grad_norm
        ):
            self.finding(finding)
        traced = self.refusals.broken == step
        for finding in self.quarantine.look_into(each.window, refusal, step=step, traced=traced):
            self.finding(finding)

    def epoch(self, state: TrainState) -> float:
        """Epochs behind a state, with a fraction."""
        return state.position / self.parts.pace.examples_per_epoch

    def evaluation(self, scores: dict[str, Any]) -> None:
        """One line of `evaluations.jsonl`."""
        self.evaluations.write(scores)
        self.progress.evaluation(scores)

    def finding(self, finding: Finding) -> None:
        """Writes a finding down and tells it."""
        self.findings.tell(finding)

    def save(self, state: TrainState) -> TrainState:
        """Begins a checkpoint of this state, or ends the run's last one, and brings every log to the disk before it."""
        state = self.flush(state)
        self.flush_logs()
        state = self.with_all(state)
        self.saving.save(state, last=self.must_stop or self.parts.finished(state))
        self.start_clock()
        return state

    def with_all(self, state: TrainState) -> TrainState:
        """The state with what the parts and the recorder keep besides."""
        guard = {
            "loss_scale": self.parts.scale.to_dict(),
            "clip": self.parts.clip.to_dict(),
            "gate": self.parts.gate.to_dict(),
            "refusals": self.refusals.to_dict(),
            "masked": self.refusals.masked,
        }
        return replace(state, data=self.ledger.to_dict(), guard=guard)

    def logs_at(self, state: TrainState) -> list[tuple[Journal, int]]:
        """The logs, each with the last step that it had at a state."""
        evaluated = (self.evaluations, self.samples, self.health_log)
        return [(self.metrics, state.step), *((journal, state.evaluated) for journal in evaluated)]

    @property
    def logs(self) -> tuple[Journal, ...]:
        """All that stay open."""
        return self.metrics, self.evaluations, self.samples, self.quarantine.journal, self.health_log

    def flush_logs(self) -> None:
        """Brings the logs to the disk."""
        for journal in self.logs:
            journal.flush()

    def close(self) -> None:
        """Waits for a save that is under way, and brings the logs to the disk."""
        self.saving.close()
        for journal in self.logs:
            journal.close()
