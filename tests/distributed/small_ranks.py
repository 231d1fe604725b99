"""Trains the small recipe as one rank of several.

Each rank is a fork of one child of `tests/children.py`, since to load torch takes longer than what most of them do.
With a world size of 1 it is the slow twin: one process, every micro-batch. Of several ranks the last one is killed in
the midst of a last run, for what the others make of it; ranks at the second port resume that run. With a number of
steps that is not 0, ranks only compare a divided model over so many.
"""

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial

import torch

from tests.forking import ended, forked
from tests.small_run import small_sources
from tests.unchecked import model_unchecked
from trimtab import launch
from trimtab.build import build
from trimtab.checks.catalogue import all_rules
from trimtab.distributed import ONE_RANK
from trimtab.distributed.launched import LaunchedRank
from trimtab.distributed.torch_ranks import launched_ranks
from trimtab.errors import RankLost, Terminated
from trimtab.step.stepper import Stepper
from trimtab.training.record import Recorder
from trimtab.types import LossOutput, TrainState

STEPS, POISONED = 14, 9
RUN_STEPS, SIGNALLED, KILLED = 8, 3, 5
DIVIDED_STEPS, RESUMED_STEPS, COMPARED_STEPS = 4, 6, 2
POISONED_IN_RUNS = 2
"""Steps before the one whose loss is not finite on the last rank."""
ADAPTED_STEPS = 2, 4
"""Of a run that is begun and then resumed."""
CHANGES = {
    "model.dropout": 0.0,
    "loss.truncate": {"error_norm": 1.0, "after": "6 steps"},
    "step.tokens_per_micro_batch": 64,
    "step.batch_warmup": {"start": 48, "over": "6 steps"},
    "step.clip": {"kind": "adaptive", "first_steps": 6},
    "guard": {"window": 16, "active_from": 8},
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


def poison_a_step(ranks):
    """From now on the loss of the last rank is not finite in one step of each run."""
    begin, take = Stepper.begin, Stepper.take_step
    reached = {}

    def begin_noting(stepper, state):
        reached["step"] = state.step
        begin(stepper, state)

    def take_spoilt(stepper, batches, **given):
        whole = stepper.objective
        if reached["step"] == POISONED_IN_RUNS and ranks.rank == ranks.world_size - 1:
            stepper.objective = poisoned(whole)
        report = take(stepper, batches, **given)
        stepper.objective = whole
        return report

    Stepper.begin, Stepper.take_step = begin_noting, take_spoilt


RUN_CHANGES = (
    f"length={RUN_STEPS} steps",
    "evaluate.every=4 steps",
    "step.schedule.warmup=2 steps",
    "checkpoint.every=0.001 minutes",  # the clocks of the ranks differ, and they save together
)


@contextmanager
def signalled(number, *, after_step, ranks):
    """The last rank alone is sent a signal in the midst of a run."""
    after = Recorder.after

    def after_and_signal(recorder, *step):
        state = after(recorder, *step)
        if state.step == after_step and ranks.rank == ranks.world_size - 1:
            os.kill(os.getpid(), number)
        return state

    Recorder.after = after_and_signal
    try:
        yield
    finally:
        Recorder.after = after


def train_in_a_folder(own, out, ranks):
    """Where a whole run ends: its last rank alone is sent SIGTERM in the midst, and the run then goes on."""
    recipe, stopped = own / "recipe.yaml", ""
    with signalled(signal.SIGTERM, after_step=SIGNALLED, ranks=ranks):
        try:
            launch.train(recipe, overrides=RUN_CHANGES, out=out, ranks=ranks)
        except Terminated as error:
            stopped = str(error)
    with model_unchecked():  # as they were before the first step
        result = launch.train(recipe, overrides=RUN_CHANGES, out=out, resume=True, ranks=ranks)
    return {"stopped": stopped, "state": asdict(result.state)}


def train_adapted(folder, ranks):
    """An adapter on a pretrained model that is divided, in two goes."""
    for steps in ADAPTED_STEPS:
        changes = [*adapted_changes(steps), "parallel={kind: fsdp}"]
        out, resume = folder / "run_of_2", steps != ADAPTED_STEPS[0]
        launch.train(folder / "text.yaml", overrides=changes, out=out, resume=resume, ranks=ranks)


def adapted_changes(steps):
    """A run of an adapter that may go on for longer, at the same rates."""
    return [
        f"length={steps} steps",
        "step.schedule={kind: inverse_sqrt, warmup: 1 steps}",
        "step.tokens_per_micro_batch=64",
        f"evaluate.every={steps} steps",
    ]


def lose_the_last(own, out, ranks):
    """The last rank is killed in the midst of a run."""
    with signalled(signal.SIGKILL, after_step=KILLED, ranks=ranks), model_unchecked():
        launch.train(own / "recipe.yaml", overrides=RUN_CHANGES, out=out, ranks=ranks)


def plain_changes(steps):
    """A run without what needs whole tensors, so that a divided model can train it too."""
    return [
        f"length={steps} steps",
        "evaluate.every=4 steps",
        # Of any length, at the same rates.
        "step.schedule={kind: inverse_sqrt, warmup: 2 steps}",
        "step.clip={kind: global_norm}",
        "checkpoint.every=4 steps",
    ]


def train_divided(own, out, ranks):
    """The first steps of a run whose model is divided, in a folder."""
    changes = [*plain_changes(DIVIDED_STEPS), "parallel={kind: fsdp}"]
    with model_unchecked():
        launch.train(own / "recipe.yaml", overrides=changes, out=out, ranks=ranks)


def losses_in(own, ranks, *, steps, **changes):
    """The losses and norms of some steps, the parts, and the types that a block's map and its gradient had."""
    # With the usual eps Adam would move the biases of keys, whose gradient is 0 but for rounding, by rounding alone.
    adamw = {"kind": "adamw", "learning_rate": 1e-2, "eps": 1e-4}
    changes = {**CHANGES, "step.clip": {"kind": "global_norm"}, "step.optimizer": adamw, **changes}
    parts = build(*small_sources(own, **changes), ranks=ranks)
    parts.model.train()
    state, numbers, seen = TrainState(), [], set()
    up = parts.model.decoder.blocks[0].feed_forward.up
    up.register_forward_pre_hook(lambda module, inputs: seen.add(str(module.weight.dtype)))
    for window, batches in parts.stream.batches(state.position):
        if state.step == steps:
            break
        parts.stepper.begin(state)
        report = parts.stepper.take_step(batches, learning_rate=parts.learning_rate.at(state))
        numbers.append((float(report.loss), float(report.grad_norm)))
        state = replace(state, step=state.step + 1, position=window.position)
    return parts, numbers, sorted(seen)


def compare_divided(own, ranks, *, steps=COMPARED_STEPS):
    """Some steps of a model that is divided beside those of one that is not, in two precisions."""
    found = {}
    for precision in ("fp32", "bf16_mixed"):
        changes = {"steps": steps, "step.precision": precision}
        whole, numbers, _ = losses_in(own, ranks, **changes)
        divided, theirs, seen = losses_in(own, ranks, **changes, parallel={"kind": "fsdp"})
        weights = divided.sharding.whole(divided.model.state_dict(), keep=True)
        moments = divided.sharding.whole(divided.stepper.optimizer.state_tensors(), keep=True)
        apart = {
            name: float((weights[name] - tensor).abs().max())
            for name, tensor in whole.model.state_dict().items()
        }
        masters = {str(each.dtype) for each in divided.model.parameters()}
        found[precision] = {
            "numbers": numbers,
            "divided": theirs,
            "seen": seen,
            "masters": sorted(masters | {str(each.dtype) for each in moments.values()}),
            "apart": max(apart.values()),
            "names": [
                weights.keys() == apart.keys(),
                moments.keys() == whole.stepper.optimizer.state_tensors().keys(),
            ],
            "held": sum(
                each.to_local().numel() for each in divided.model.parameters() if hasattr(each, "to_local")
            ),
            "numel": sum(each.numel() for each in whole.model.parameters()),
            "copied": float(
                (divided.evaluation_model.copy().embedding.weight - weights["embedding.weight"]).abs().max()
            ),
        }
    return found


def work(folder, rank, world_size, port, compared_steps):
    own, out = folder / f"rank{rank}of{world_size}", folder / f"run_of_{world_size}"
    if world_size == 1:
        found = train(own, ONE_RANK)
        with model_unchecked():  # ranks make the checks
            adapted, changes = folder / "adapted", adapted_changes(ADAPTED_STEPS[-1])
            launch.train(adapted / "text.yaml", overrides=changes, out=adapted / "run_of_1")
            poison_a_step(ONE_RANK)
            found |= train_in_a_folder(own, out, ONE_RANK)
            launch.train(own / "recipe.yaml", overrides=plain_changes(RESUMED_STEPS), out=folder / "plain")
        write(own, found)
        return
    with joined(rank, world_size, port) as ranks:
        if compared_steps:
            found = {"compared": compare_divided(own, ranks, steps=compared_steps), "kept": {}}
            write(own, found)
            return
        found = train(own, ranks)
        found["compared"] = compare_divided(own / "compared", ranks)
        found["gathered"] = ranks.gather({"rank": rank, "text": "ä" * rank, "nan": float("nan")})
        train_adapted(folder / "adapted", ranks)
        poison_a_step(ranks)
        found |= train_in_a_folder(own, out, ranks)
        train_divided(own, folder / "divided", ranks)
        write(own, found)
        lose_the_last(own, folder / "killed", ranks)


def resume(folder, rank, world_size, port):
    """Goes on with the run that was killed."""
    recipe = folder / f"rank{rank}of{world_size}" / "recipe.yaml"
    with joined(rank, world_size, port) as ranks, model_unchecked():
        poison_a_step(ranks)
        launch.train(recipe, overrides=RUN_CHANGES, out=folder / "killed", resume=True, ranks=ranks)


def joined(rank, world_size, port):
    mine = LaunchedRank(rank, world_size, rank, world_size, "127.0.0.1", port)
    return launched_ranks(mine, timeout_seconds=120)


def write(own, found):
    torch.save(found.pop("kept"), own / "kept.pt")
    (own / "found.json").write_text(json.dumps(found))


def begin(folder, rank, world_size, task):
    """Begins a rank, whose output goes into a file."""

    def begun():
        output = os.open(folder / f"said_by_{rank}of{world_size}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            task(folder, rank, world_size)
        except RankLost as error:
            sys.stderr.write(str(error))
            sys.stderr.flush()
            os._exit(RankLost.exit_code)

    return forked(begun)


def main(folder, port, other_port, compared_steps, *ranks):
    """Begins `RANK/WORLD_SIZE` each and writes how they ended; what all would import late is imported once."""
    import sacrebleu  # noqa: F401
    import torch._dynamo
    import torch.distributed.fsdp
    import torch.distributed.tensor  # noqa: F401

    folder.mkdir(exist_ok=True)
    all_rules()
    given = [[*map(int, each.split("/"))] for each in ranks]
    first = partial(work, port=port, compared_steps=compared_steps)
    codes = [*map(ended, [begin(folder, *each, first) for each in given])]
    if not compared_steps:
        again = partial(resume, port=other_port)
        codes += map(ended, [begin(folder, *each, again) for each in given if each[1] > 1])
    (folder / "codes.json").write_text(json.dumps(codes))
