"""What is about to run, in one line."""

import torch

from trimtab.build import Parts
from trimtab.types import TrainState


def describe(parts: Parts, state: TrainState) -> str:
    """One line on what is about to run."""
    step, where = parts.recipe.step, torch.cuda.get_device_name() if parts.device.type == "cuda" else "CPU"
    kind = f"{parts.precision}, {'compiled' if step.compile == 'on' else 'not compiled'}"
    facts, num_batches = parts.recipe.facts, parts.packing.num_batches
    return (
        f"{parts.model.num_parameters() / 1e6:.1f}M parameters on {where} ({kind}); "
        f"{growing(parts)}{step.tokens_per_step} {facts.targets} a step in {num_batches} {facts.batches}; "
        f"{parts.sources.examples_per_epoch} an epoch; "
        f"peak rate {parts.learning_rate.peak:.2g}; "
        f"length {parts.recipe.length}" + (f"; going on from step {state.step}" if state.step else "")
    )


def growing(parts: Parts) -> str:
    """What steps begin with, where they grow."""
    warmup = parts.recipe.step.batch_warmup
    return f"{warmup.start}, growing to " if warmup else ""
