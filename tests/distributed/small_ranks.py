"""Trains the small recipe as one rank of several: `python -m tests.distributed.small_ranks FOLDER RANK WORLD_SIZE`.

With a world size of 1 it is the slow twin: one process, the run's own `take_step`, every micro-batch.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

from tests.small_run import small_parts
from trimtab.distributed.share import deal, dropout_seed
from trimtab.distributed.torch_ranks import joined_ranks
from trimtab.flow import LossOutput, TrainState
from trimtab.step.take_step import StepsOverRanks

STEPS, POISONED = 24, 17
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
    parts = small_parts(folder, **CHANGES)
    parts.model.train()
    state, lines = TrainState(), []
    for window, packs in parts.windows(state.position):
        if state.step == STEPS:
            break
        parts.begin(state)
        rank, world_size = (0, 1) if ranks is None else (ranks.rank, ranks.world_size)
        torch.manual_seed(dropout_seed(parts.recipe.seed, step=state.step, rank=rank))
        last = state.step == POISONED and rank == world_size - 1
        if last:
            parts.objective, whole = poisoned(parts.objective), parts.objective
        mine = deal(packs, world_size)[rank]
        rate = parts.learning_rate(state)
        if ranks is None:
            report = parts.take_step(mine, learning_rate=rate)
        else:
            report = StepsOverRanks(ranks).take_step(
                parts.objective,
                parts.optimizer,
                mine,
                clip=parts.clip,
                scale=parts.scale,
                gate=parts.gate,
                learning_rate=rate,
            )
        if last:
            parts.objective = whole
        numbers = {key: float(getattr(report, key)) for key in ("loss", "objective", "grad_norm", "clipped")}
        counts = (report.num_targets, report.num_tokens, int(report.truncated or 0), int(report.refusal))
        lines.append(numbers | {"counts": counts, "batches": len(mine)})
        state = replace(state, step=state.step + 1, position=window.position)
    kept = {**parts.model.state_dict(), **parts.optimizer.state_tensors()}
    return {"lines": lines, "kept": kept, "clip": parts.clip.to_dict(), "gate": parts.gate.to_dict()}


def main(folder, rank, world_size):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    own = folder / f"rank{rank}of{world_size}"
    if world_size == 1:
        found = train(own, None)
    else:
        meeting = (folder / f"meeting{world_size}").as_uri()
        with joined_ranks(
            backend="gloo", init_method=meeting, rank=rank, world_size=world_size, timeout_seconds=120
        ) as ranks:
            found = train(own, ranks)
    torch.save(found["kept"], own / "kept.pt")
    (own / "found.json").write_text(json.dumps({key: found[key] for key in ("lines", "clip", "gate")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
