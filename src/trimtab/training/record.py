"""What a run writes down: metrics, evaluations, findings, the ledger, checkpoints; and the counts that it keeps."""

import json
import time
from dataclasses import replace
from typing import Any

import torch

from trimtab.build import Parts
from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.data.ledger import Ledger
from trimtab.data.pack import fill
from trimtab.errors import NoRoom
from trimtab.finding import Finding
from trimtab.flow import Pack, StepReport, TrainState, Window
from trimtab.guard.finite import not_applied
from trimtab.progress import Progress

STEPS_PER_FLUSH = 10
"""On a GPU reports stay there for so many steps; each look at them waits for it once."""
SAVE_TRIES = 3
"""A full disk is met with training on and trying again at the next checkpoint, so many times."""


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
        self.fingerprints = fingerprints
        self.ledger: Ledger = parts.ledger
        self.must_stop = False
        """Set from outside, by a signal; the loop ends after the step at hand."""
        self.step = 0
        """The newest step, which findings are written down with."""
        self.source_matters = False
        """Whether a validation has seen the loss rise when sources were exchanged."""
        self.findings: list[Finding] = []
        """What was found and still holds; `findings.jsonl` has everything that was ever found."""
        self.metrics = Journal(folder.metrics, tell=self.finding)
        self.evaluations = Journal(folder.evaluations, tell=self.finding)
        self.samples = Journal(folder.samples, tell=self.finding)
        self.pending: list[tuple[dict[str, Any], StepReport]] = []
        self.failed_saves = 0
        self.saved: TrainState | None = None
        self.start_clock()

    def start_clock(self) -> None:
        """Time from here on is training; what lay before (an evaluation, a save) is not."""
        self.mark = self.flushed_at = time.perf_counter()

    def after(self, state: TrainState, window: Window, packs: list[Pack], report: StepReport) -> TrainState:
        """The state after one more step."""
        self.ledger.add(window)
        now = time.perf_counter()
        state = replace(
            state,
            step=state.step + 1,
            position=window.position,
            target_tokens=state.target_tokens + window.num_targets,
            tokens=state.tokens + window.num_tokens,
            seconds=state.seconds + now - self.mark,
        )
        self.mark, self.step = now, state.step
        line = {"step": state.step, "target_tokens": window.num_targets, "tokens": window.num_tokens}
        line |= {
            "micro_batches": len(packs),
            "fill": round(fill(packs), 4),
            "epoch": round(self.epoch(state), 4),
        }
        self.pending.append((line, report))
        on_gpu = report.loss.device.type == "cuda"
        return state if on_gpu and len(self.pending) < STEPS_PER_FLUSH else self.flush(state)

    def flush(self, state: TrainState) -> TrainState:
        """Fetches what is pending from the device, writes it down, and brings the counts up to date."""
        if not self.pending:
            return state
        fields = ("loss", "objective", "grad_norm", "clipped", "skipped")
        fields += ("truncated",) if self.parts.recipe.loss.truncate else ()
        numbers = torch.stack([getattr(r, f).float() for _, r in self.pending for f in fields]).tolist()
        now = time.perf_counter()
        state = replace(state, seconds=state.seconds + now - self.mark)
        rate = sum(line["tokens"] for line, _ in self.pending) / max(1e-9, now - self.flushed_at)
        self.mark = self.flushed_at = now
        for i, (line, report) in enumerate(self.pending):
            values = numbers[i * len(fields) : (i + 1) * len(fields)]
            loss, objective, grad_norm, clipped, skipped, *truncated = values
            updates = state.updates + (not skipped)
            state = replace(
                state, updates=updates, clips=state.clips + int(clipped), skips=state.skips + int(skipped)
            )
            line |= {"updates": updates, "loss": loss, "objective": objective, "grad_norm": grad_norm}
            line |= {
                "clipped": bool(clipped),
                "skipped": bool(skipped),
                "learning_rate": report.learning_rate,
            }
            line |= {"truncated": int(truncated[0])} if truncated else {}
            line |= {"tokens_per_second": round(rate, 1), "seconds": round(state.seconds, 3)}
            self.metrics.write(line)
            if skipped:
                self.finding(not_applied(loss, grad_norm, step=f"step {line['step']}"))
        self.pending.clear()
        share = self.parts.pace.share(self.parts.recipe.length, state)
        left = state.seconds / share - state.seconds if 0 < share <= 1 else None
        self.progress.step(line, share=min(1.0, share), seconds_left=left)
        return state

    def epoch(self, state: TrainState) -> float:
        """Epochs behind a state, with a fraction."""
        return state.position / self.parts.pace.examples_per_epoch

    def evaluation(self, scores: dict[str, Any]) -> None:
        """One line of `evaluations.jsonl`."""
        self.evaluations.write(scores)
        self.progress.evaluation(scores)

    def finding(self, finding: Finding) -> None:
        """Writes a finding down and tells it."""
        self.findings.append(finding)
        journal = Journal(self.folder.findings)
        journal.write({"step": self.step, **{key: getattr(finding, key) for key in Finding.__slots__}})
        journal.close()
        self.progress.finding(finding)

    def look_again_for(self, *codes: str) -> None:
        """Forgets what the next evaluation looks for again: a run that has recovered ends well."""
        self.findings = [finding for finding in self.findings if finding.code not in codes]

    def save(self, state: TrainState) -> TrainState:
        """Commits a checkpoint of this state, and brings every log to the disk before it."""
        state = self.flush(state)
        for journal in (self.metrics, self.evaluations, self.samples):
            journal.flush()
        ledger = self.ledger.to_dict()
        guard = {"loss_scale": self.parts.scale.to_dict(), "clip": self.parts.clip.to_dict()}
        state = replace(state, data=ledger, guard=guard)
        if state == self.saved:
            return state
        try:
            self.store.save(
                state,
                model=self.parts.model.state_dict(),
                optimizer=self.parts.optimizer.state_tensors(),
                fingerprints=self.fingerprints,
            )
            replace_file(self.folder.data_ledger, json.dumps(ledger, indent=1, ensure_ascii=False).encode())
            self.saved, self.failed_saves = state, 0
        except NoRoom as error:
            self.failed_saves += 1
            if self.failed_saves >= SAVE_TRIES or self.must_stop or self.parts.finished(state):
                raise
            self.finding(no_room(error, tries_left=SAVE_TRIES - self.failed_saves))
        self.start_clock()
        return state

    def close(self) -> None:
        """Brings the logs to the disk."""
        for journal in (self.metrics, self.evaluations, self.samples):
            journal.close()


def no_room(error: NoRoom, *, tries_left: int) -> Finding:
    """A checkpoint that did not fit on the disk."""
    return Finding(
        code="K907",
        name="checkpoint-not-saved",
        severity="warning",
        message=str(error),
        why=f"Training goes on; {tries_left} more failed saves end it. The checkpoints before are intact.",
        fix="free some space",
    )
