"""Trains a small modular recipe as one rank of several, each with directions of its own.

As in `small_ranks.py`, each rank is a fork of one child of `tests/children.py`, and a world size of 1 is the slow twin.
"""

import json
import time

import torch
from torch import nn

from tests.distributed.small_ranks import joined
from tests.forking import ended, forked
from tests.unchecked import model_unchecked
from trimtab import launch
from trimtab.distributed import ONE_RANK
from trimtab.distributed.placed_ranks import PlacedRanks, ReplicatedWeights
from trimtab.training.checkpointer import Checkpointer

FIRST_STEPS, STEPS = 3, 5
CHANGES = [
    # With the usual eps Adam would move the biases of keys, whose gradient is 0 but for rounding, by rounding alone.
    "step.optimizer={kind: adamw, learning_rate: 1e-2, eps: 1e-4}",
    "step.schedule={kind: inverse_sqrt, warmup: 1 steps}",
    "step.tokens_per_micro_batch=64",
    "checkpoint={every: 1000 steps, keep: 3}",
    "evaluate={every: 1000 steps, metrics: [], best: {metric: loss}, samples: 0}",
]
PLACEMENTS = {
    2: "[{en-de: 0.4, de-en: 1.0}, {en-de: 0.6, en-pt: 1.0, pt-en: 1.0}]",
    3: "[{en-de: 0.4, de-en: 1.0}, {en-de: 0.6}, {en-pt: 1.0, pt-en: 1.0}]",
}


def train(folder, ranks):
    """Two runs: one with a computed placement that is interrupted and resumes, and one with a given placement."""
    size = ranks.world_size
    states = []
    save = Checkpointer.save

    def save_seen(checkpointer, state, *, last):
        states.append(sorted(checkpointer.optimizer.state_tensors()))
        save(checkpointer, state, last=last)

    Checkpointer.save = save_seen
    by_direction = ["parallel={kind: by_direction}"] if size > 1 else []
    each = ["step.clip={kind: component, at: 0.05}", "model.mean_over=component", *by_direction]
    for steps in (FIRST_STEPS, STEPS):
        run(folder, f"resumed{size}", [*each, f"length={steps} steps"], ranks, resume=steps == STEPS)
    if size == 3:  # on fewer ranks than it began with
        return states
    given = [f"parallel={{kind: by_direction, placement: {PLACEMENTS[size]}}}"] if size > 1 else []
    run(folder, f"given{size}", ["step.clip={kind: global_norm, at: 0.1}", *given, "length=3 steps"], ranks)
    return states


def run(folder, name, changes, ranks, *, resume=False):
    recipe = folder / f"data{ranks.world_size}_{ranks.rank}" / "recipe.yaml"
    with model_unchecked():
        out = folder / name
        launch.train(recipe, overrides=[*CHANGES, *changes], out=out, resume=resume, ranks=ranks)


def late_holder(folder, ranks):
    """What the third rank sees of a sum between the first two, of which the first comes only once the third is
    through."""
    shared, own = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(2))
    held = [
        ReplicatedWeights("shared", (0, 1), {"shared": shared}),
        ReplicatedWeights("own", (2,), {"own": own}),
    ]
    placed = PlacedRanks(ranks, held)
    through = folder / "through"
    if ranks.rank == 0:
        while not through.exists():
            time.sleep(0.01)
    weight = own if ranks.rank == 2 else shared
    weight.grad = torch.full_like(weight, ranks.rank + 1.0)
    squares = placed.sum_gradients()
    if ranks.rank == 2:
        through.touch()
    return {"sum": weight.grad.tolist(), "squares": squares.tolist()}


def work(folder, rank, world_size, port):
    torch.set_num_threads(1)
    if world_size == 1:
        found = {"states": train(folder, ONE_RANK)}
    else:
        with joined(rank, world_size, port) as ranks:
            found = {"late": late_holder(folder, ranks)} if world_size == 3 else {}
            found["states"] = train(folder, ranks)
    (folder / f"found{world_size}_{rank}.json").write_text(json.dumps(found))


def main(folder, ports):
    """Runs world sizes of 1, 2 and 3 at the same time and writes how the ranks ended."""
    pids = [
        forked(lambda rank=rank, size=size: work(folder, rank, size, ports[size]))
        for size in (1, 2, 3)
        for rank in range(size)
    ]
    (folder / "codes.json").write_text(json.dumps([*map(ended, pids)]))
