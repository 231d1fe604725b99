"""Trains the small recipe as one rank of several: `python -m tests.distributed.small_ranks FOLDER RANK WORLD_SIZE`.

With a world size of 1 it is the slow twin: one process, every micro-batch.
"""

import json
import os
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch

from tests.small_run import small_sources
from trimtab import launch
from trimtab.build import build
from trimtab.distributed import ONE_RANK
from trimtab.distributed.torch_ranks import joined_ranks
from trimtab.errors import Terminated
from trimtab.training.record import Recorder
from trimtab.types import LossOutput, TrainState

STEPS, POISONED = 24, 17
RUN_STEPS, SIGNALLED = 8, 3
CHANGES = {
    "model.dropout": 0.0,
    "loss.truncate": {"error_norm": 1.0, "after": "6 steps"},
    "step.tokens_per_micro_batch": 64,
    "step.batch_warmup": {"start": 48, "over": "6 steps"},
    "step.clip": {"kind": "adaptive", "first_steps": 6},
    "guard": {"window": 16, "active_from": 16},
}


def poisoned(objective):
    def spoilt(batch):
        out = objective(batch)
        return LossOutput(out.objective * torch.nan, out.loss, out.truncated)

    return spoilt


def train(folder, ranks):
    """Lines of what each step showed, and at the end everything that the next step depends on. The last rank's loss is
    not finite in one step."""
    parts = build(*small_sources(folder, **CHANGES), ranks=ranks)
    stepper = parts.stepper
    parts.model.train()
    state, lines = TrainState(), []
    for window, batches in parts.stream.batches(state.position):
        if state.step == STEPS:
            break
        stepper.begin(state)
        whole = stepper.objective
        if state.step == POISONED and ranks.rank == ranks.world_size - 1:
            stepper.objective = poisoned(whole)
        report = stepper.take_step(batches, learning_rate=parts.learning_rate.at(state))
        stepper.objective = whole
        numbers = {key: float(getattr(report, key)) for key in ("loss", "objective", "grad_norm", "clipped")}
        counts = (report.num_targets, report.num_tokens, int(report.truncated or 0), int(report.skip_reason))
        lines.append(numbers | {"counts": counts, "batches": len(batches)})
        state = replace(state, step=state.step + 1, position=window.position)
    kept = {**parts.model.state_dict(), **stepper.optimizer.state_tensors()}
    return {"lines": lines, "kept": kept, "clip": stepper.clip.to_dict(), "gate": stepper.gate.to_dict()}


def train_in_a_folder(own, out, ranks):
    """Where a whole run ends: its last rank alone is sent SIGTERM in the midst, and the run then goes on."""
    changes = [f"length={RUN_STEPS} steps", "evaluate.every=4 steps", "step.schedule.warmup=2 steps"]
    changes.append("checkpoint.every=0.001 minutes")  # the clocks of the ranks differ, and they save together
    after = Recorder.after

    def after_and_signal(recorder, *step):
        state = after(recorder, *step)
        if state.step == SIGNALLED and ranks.rank == ranks.world_size - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return state

    Recorder.after = after_and_signal
    try:
        launch.train(own / "recipe.yaml", overrides=changes, out=out, ranks=ranks)
    except Terminated as error:
        stopped = str(error)
    Recorder.after = after
    result = launch.train(own / "recipe.yaml", overrides=changes, out=out, resume=True, ranks=ranks)
    return {"stopped": stopped, "state": asdict(result.state)}


def main(folder, rank, world_size):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    own, out = folder / f"rank{rank}of{world_size}", folder / f"run_of_{world_size}"
    if world_size == 1:
        found = train(own, ONE_RANK)
        found |= train_in_a_folder(own, out, ONE_RANK)
    else:
        meeting = (folder / f"meeting{world_size}").as_uri()
        with joined_ranks(
            backend="gloo", init_method=meeting, rank=rank, world_size=world_size, timeout_seconds=120
        ) as ranks:
            found = train(own, ranks)
            found |= train_in_a_folder(own, out, ranks)
    torch.save(found.pop("kept"), own / "kept.pt")
    (own / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
