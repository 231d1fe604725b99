"""One recipe of `fit_planned.py`, which starts this: a few steps in a process of its own, and what it measured on the
last line."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

from fit_recipes import recipe_file
from fit_steps import FIRST_STEPS, Steps, emptied, peaks, slots_of

from trimtab.config.load import load_recipe
from trimtab.fit.gpus import find_gpu, local_gpu
from trimtab.fit.plan import plan_recipe, plan_run
from trimtab.fit.planned_run import run_of
from trimtab.fit.speed import speed_of

MEASURED_STEPS, TIMED_STEPS = 3, 6


def one(name, folder, *, small):
    """Opens the data, waits for its turn, trains a few steps, says what it saw on the last line."""
    import torch

    from trimtab.build import build, untrained_model
    from trimtab.config.paths import resolve_paths
    from trimtab.device import set_arithmetic
    from trimtab.progress import Silent
    from trimtab.tasks.task_of import open_datasets, task_of

    loaded = load_recipe(recipe_file(name, folder, small=small))
    recipe = resolve_paths(loaded)
    if not torch.cuda.is_available() and recipe.step.precision == "auto":
        recipe = recipe.model_copy(
            update={"step": recipe.step.model_copy(update={"precision": "bf16_mixed"})}
        )
    datasets = open_datasets(recipe, tokenizer_folder=folder / f"{os.getpid()}_tokenizer", progress=Silent())
    # First weights take a CPU up to a quarter of a minute, in which another recipe has the GPU.
    task = task_of(recipe)
    ready = []
    if not recipe.model.drawn_on_gpu:
        sized = task.resolve_sizes(recipe, datasets)
        ready.append(untrained_model(task, sized, datasets, device=torch.device("cpu")))
    say("READY")
    sys.stdin.readline()
    found = planned(loaded)
    set_arithmetic(recipe)
    begun = time.perf_counter()
    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")
        free, total = torch.cuda.mem_get_info()
        found["driver_at_first"] = total - free - torch.cuda.memory_reserved()
    if ready:  # a recipe in bf16 lets go of the first one
        with patch("trimtab.build.untrained_model", lambda *_, device: ready.pop().to(device)):
            parts = build(recipe, datasets)
    else:
        parts = build(recipe, datasets)
    found["seconds_to_build"] = round(time.perf_counter() - begun, 2)
    try:
        measured(parts, found)
    except (RuntimeError, MemoryError) as error:
        found["error"] = f"{type(error).__name__}: {error}"[:500]
    found["resolved"] = planned_again(parts, loaded)
    say("MEASURED " + json.dumps(found))
    sys.stdin.readline()  # while the driver is asked
    os._exit(0)  # workers of the loader and threads of compilers are not waited for


def measured(parts, found):
    """Steps, their peaks, their time, and an evaluation."""
    import torch

    cuda = torch.cuda.is_available()
    steps = Steps(parts)

    def after(number):
        if cuda and number > FIRST_STEPS and not steps.recordings:
            found["plain"] = peaks()
        if cuda and number == FIRST_STEPS:
            found["first"] = peaks()
            emptied()

    found["slots"] = slots_of(steps.warm_up(after))
    if cuda:
        found["warm"] = peaks()
        emptied()
    for packs in steps.known(MEASURED_STEPS):
        steps.take(packs)
    if cuda:
        found["steady"] = peaks()
        over = [found[name] for name in ("plain", "warm", "steady")]
        found["measured"] = {
            "allocated": max(each["allocated"] for each in over),
            "reserved": max(found[name]["reserved"] for name in ("plain", "steady")),
        }
        free, total = torch.cuda.mem_get_info()
        beside = total - free - torch.cuda.memory_reserved()
        found["driver_in_use"], found["driver_total"] = beside + found["measured"]["reserved"], total
        found["reserved_then"] = found["measured"]["reserved"]
    packs, before = steps.known(TIMED_STEPS), steps.recordings
    seconds = steps.seconds(packs)
    found["recorded_while_timed"] = steps.recordings - before
    tokens = sum(batch.num_tokens for batches in packs for batch in batches)
    found["step_seconds"] = round(seconds / TIMED_STEPS, 5)
    found["tokens_per_second"] = round(tokens / seconds)
    graphs = parts.stepper.graphs
    found["recordings"], found["shapes"] = steps.recordings, sorted(steps.taken.values(), reverse=True)
    found["not_recorded"] = None if graphs is None else graphs.given_up
    found["evaluation"] = evaluated(parts)
    if cuda:
        found["phases"] = phases(parts, packs[0][0])


def evaluated(parts):
    """A whole evaluation, as `training.validate` makes it: peaks of the copy, of the loss and of the rest."""
    import torch

    from trimtab.tasks.task import Moment

    cuda, told = torch.cuda.is_available(), {}

    def note(name):
        if cuda:
            told[name] = peaks()
            torch.cuda.reset_peak_memory_stats()

    if parts.stepper.graphs is not None:  # as `training.validate` does where memory is short
        parts.stepper.graphs.close()
    if cuda:
        emptied()
    parts.model.eval()
    copy, own = parts.evaluation_model.copy().eval(), parts.task.validation
    note("copy")
    for valid in parts.datasets.valid.values():
        began = time.perf_counter()
        loss = own.loss_of(parts, copy, valid)
        note("loss")
        moment = Moment(loss=loss, started=began, first=True, share=0.5, input_matters=True)
        own.scored(parts, copy, valid, moment)
        note("scored")
        told["seconds"] = round(time.perf_counter() - began, 2)
    return told


def phases(parts, batch):
    """The peaks of a forward pass with its loss, and of the backward pass, launched plainly."""
    import torch

    torch.cuda.reset_peak_memory_stats()
    parts.model.train()
    held = torch.cuda.memory_allocated()
    output = parts.stepper.objective(batch)
    told = {"held": held, "after_forward": torch.cuda.memory_allocated()}
    told["loss"] = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    (output.objective / 1024).backward()
    told["backward"], told["after_backward"] = (
        torch.cuda.max_memory_allocated(),
        torch.cuda.memory_allocated(),
    )
    return told


def card():
    return local_gpu() or find_gpu("h200")


def planned(loaded):
    """What the planner says of the recipe as it is written."""
    gpu, begun = card(), time.perf_counter()
    plan = plan_recipe(loaded.recipe, loaded.folder, gpu)
    seconds = time.perf_counter() - begun
    return {"plan": as_numbers(plan, gpu), "planning_seconds": round(seconds, 4)}


def planned_again(parts, loaded):
    """The same of the recipe that the run has resolved, with the slots and the choices that it has."""
    gpu = card()
    shape = plan_recipe(loaded.recipe, loaded.folder, gpu).run.shape
    run = run_of(parts.recipe, loaded.folder, gpu, shape)
    count = sum(parameter.numel() for parameter in parts.model.parameters())
    return {
        **as_numbers(plan_run(run), gpu),
        "parameters_of_the_model": count,
        "source_tokens_per_micro_batch": parts.recipe.step.source_tokens_per_micro_batch,
        "compile": parts.recipe.step.compile,
    }


def as_numbers(plan, gpu):
    speed = speed_of(plan, gpu)
    slots = plan.run.slots
    return {
        "allocated": plan.allocated,
        "reserved": plan.reserved,
        "driver": plan.driver,
        "evaluation": plan.evaluation,
        "moments": plan.moments,
        "owners": plan.owners,
        "activations": plan.activations,
        "parameters": plan.run.shape.parameters,
        "tokens_per_second": round(speed.tokens_per_second),
        "slots": {"target": slots.target, "source": slots.source, "micro_batches": slots.micro_batches},
        "compiled": plan.run.how.compiled,
        "recorded": plan.run.recorded,
    }


def say(line):
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    one(given.name, given.folder, small=given.tiny)
