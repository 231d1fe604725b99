"""The largest batch that can come: if it fits, every other does."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from trimtab.config.run import Recipe
from trimtab.errors import InputError, is_out_of_gpu_memory, is_out_of_memory, one_line, ran_out
from trimtab.finding import Finding
from trimtab.run_findings.preflight import LONGEST_BATCH_DOES_NOT_FIT
from trimtab.step.accumulate import accumulate
from trimtab.step.released_steps import each_gradient
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import as_trained

if TYPE_CHECKING:
    from trimtab.fit.gpus import Gpu
    from trimtab.fit.plan import Plan

SIZES = ("dim", "layers", "encoder_layers", "decoder_layers", "feed_forward")
"""Of a model, by which its weights grow."""


def longest_batch(parts: Checked) -> Iterator[Finding]:
    """Forward and backward of the fullest pack, by the program that trains: another needs other memory."""
    parts.model.train()
    step = parts.recipe.last_unfreezing
    parts.stepper.train_weights_of(step)  # when all weights that are ever trained have gradients
    try:
        released = parts.stepper.optimizer.named if parts.recipe.step.gradients == "released" else {}
        with as_trained(), each_gradient(released, lambda name, weight: None):
            accumulate(parts.stepper.objective, [parts.examples.fullest().to(parts.device)])
        if parts.device.type == "cuda":
            torch.cuda.synchronize(parts.device)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        yield does_not_fit(parts, error)
    finally:
        parts.stepper.train_weights_of(0)


def does_not_fit(parts: Checked, error: Exception) -> Finding:
    """The finding for memory that ran out."""
    targets, facts = parts.recipe.step.micro_batch_tokens, parts.recipe.facts
    least = facts.targets_of_longest(parts.recipe.data.max_tokens)
    smaller = (
        f"set step.tokens_per_micro_batch to {max(least, targets // 2)}; it changes speed and memory only"
    )
    fix = smaller if targets > least else "lower data.max_tokens, or take a smaller model"
    return LONGEST_BATCH_DOES_NOT_FIT.found(
        f"a micro-batch of {targets} {facts.counted} does not fit into memory: " + ran_out(error),
        fix=planned_fix(parts.recipe, parts.device, ranks=parts.stepper.ranks.world_size) or fix,
    )


def planned_fix(recipe: Recipe, device: torch.device, *, ranks: int = 1) -> str:
    """What the planner proposes for a recipe that has run out of a GPU's memory; empty on a CPU, and where it knows of
    nothing."""
    if device.type != "cuda":
        return ""
    from trimtab.fit.ask import changes_after_running_out

    try:
        changes = changes_after_running_out(recipe, gpu_of(device), ranks=ranks)
    except Exception:  # of any kind: what ran out of memory is still to be said
        return ""
    return f"train with {changes}, which `trimtab fit` proposes and explains" if changes else ""


def gpu_of(device: torch.device) -> "Gpu":
    """The card as PyTorch describes it."""
    from trimtab.fit.gpus import described

    of = torch.cuda.get_device_properties(device)
    return described(of.name, of.total_memory / 2**30, float(f"{of.major}.{of.minor}"))


def planned_bytes(parts: Checked) -> dict[str, Any]:
    """The plan of a run on a GPU in bytes; empty on a CPU, and where there is none."""
    if parts.device.type != "cuda":
        return {}
    try:
        gpu = gpu_of(parts.device)
        plan = plan_of(parts.recipe, gpu, ranks=parts.stepper.ranks.world_size)
    except Exception:  # of any kind: a run does not depend on its plan
        return {}
    return {
        "owners": dict(plan.owners),
        "allocated": plan.allocated,
        "reserved": plan.most_reserved,
        "driver": plan.peak,
        "card": int(gpu.memory),
    }


def release_cached_memory(device: torch.device) -> None:
    """Gives the driver back what checks have left in the cache of PyTorch's allocator: steps that are recorded run on
    a stream of their own, which takes no block that another stream has cached, so that it would be reserved twice."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def measured_bytes(device: torch.device) -> dict[str, int]:
    """What PyTorch reserved and allocated at most of a GPU's memory, checks and evaluations included; empty on a
    CPU."""
    if device.type != "cuda":
        return {}
    return {
        "reserved": torch.cuda.max_memory_reserved(device),
        "allocated": torch.cuda.max_memory_allocated(device),
    }


def planned_memory(parts: Checked) -> str:
    """One line before a run: what the planner expects of its GPU, or why it has no plan; empty on a CPU."""
    if parts.device.type != "cuda":
        return ""
    from trimtab.fit.memory_size import in_gib

    try:
        gpu = gpu_of(parts.device)
        plan = plan_of(parts.recipe, gpu, ranks=parts.stepper.ranks.world_size)
    except InputError as error:
        return f"memory: not planned: {one_line(error.problems[0].what)}"
    except Exception as error:  # of any kind: a run does not depend on its plan
        return f"memory: not planned, for the planner failed: {one_line(f'{type(error).__name__}: {error}'[:200])}"
    evaluation = plan.most_reserved > plan.reserved
    return (
        f"memory: {in_gib(plan.reserved)} reserved at the peak of a step is planned, "
        + (f"{in_gib(plan.most_reserved)} in an evaluation, " if evaluation else "")
        + f"{in_gib(plan.peak)} with CUDA's own, of {in_gib(gpu.memory)}"
    )


def measured_memory(parts: Checked) -> str:
    """One line after a run: what PyTorch reserved at most, checks and evaluations included; empty on a CPU."""
    found = measured_bytes(parts.device)
    if not found:
        return ""
    from trimtab.fit.memory_size import in_gib

    return (
        f"memory: {in_gib(found['reserved'])} was reserved at the peak, checks and evaluations included, "
        f"{in_gib(found['allocated'])} of it allocated"
    )


def plan_of(recipe: Recipe, gpu: "Gpu", *, ranks: int = 1) -> "Plan":
    """The plan of a resolved recipe, for each of so many processes."""
    from trimtab.fit.plan import plan_recipe

    return plan_recipe(recipe, Path(), gpu, ranks=ranks)


def model_does_not_fit(
    recipe: Recipe, error: Exception, *, device: torch.device | None = None, ranks: int = 1
) -> str:
    """The error for weights that do not fit in memory."""
    sizes = recipe.model.model_dump(exclude_none=True)
    told = ", ".join(f"{key} {sizes[key]}" for key in SIZES if key in sizes)
    planned = "" if device is None else planned_fix(recipe, device, ranks=ranks)
    return (
        f"the model does not fit into memory: {ran_out(error)}\n"
        f"  got     {told}\n"
        f"  fix     {planned or 'take a smaller one, such as `model.preset: small`, or a larger machine'}"
    )


def does_not_start(recipe: Recipe, error: Exception, *, device: torch.device, ranks: int = 1) -> str:
    """The error for memory that runs out before the first step."""
    free = "end other programs that use the memory of this machine, or lower data.workers"
    planned = "" if not is_out_of_gpu_memory(error) else planned_fix(recipe, device, ranks=ranks)
    return (
        f"memory ran out before the first step: {ran_out(error)}\n"
        "  why     the run was being prepared; nothing was trained, and checkpoints are intact\n"
        f"  fix     {planned or free}"
    )
