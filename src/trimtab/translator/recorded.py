"""Translation whose decoder steps are recorded as CUDA graphs, on a GPU in half precision."""

from dataclasses import replace

import torch

from trimtab.decode.ensemble import Ensemble
from trimtab.decode.setup import TranslationSetup
from trimtab.flow import Translates
from trimtab.model.session import SessionOpener
from trimtab.model.static.opener import StaticOpener

ROOMY_BYTES = 20 * 2**30
"""From this memory on a GPU takes large batches: their caches need some 3 GiB with the base preset, 7 with the big
one."""
ROOMY_TOKENS, ROOMY_HYPOTHESES = 131072, 4096


def recorded(setup: TranslationSetup) -> TranslationSetup:
    """The same translations by recorded steps, in large batches where the GPU has the memory; the setup as it is on a
    CPU, where nothing is recorded. The recordings belong to the setup, so it pays to keep a translator.

    Not for a model in training, whose weights are copied for each evaluation and which needs the memory itself.
    """
    if setup.device.type != "cuda":
        return setup
    fixed = replace(setup, model=in_fixed_shapes(setup.model))
    if torch.cuda.get_device_properties(setup.device).total_memory < ROOMY_BYTES:
        return fixed
    return replace(fixed, batch_tokens=ROOMY_TOKENS, most_hypotheses=ROOMY_HYPOTHESES)


def in_fixed_shapes(model: Translates) -> Translates:
    """A model or ensemble whose sessions have fixed shapes; one that has no such sessions as it is."""
    if isinstance(model, Ensemble):
        return Ensemble([in_fixed_shapes(each) for each in model.models], mode=model.mode)
    if isinstance(model, SessionOpener):
        weights = model.model.output_matrix
        if weights.device.type == "cpu" or weights.dtype in (torch.float16, torch.bfloat16):
            return StaticOpener(model)
    return model


def in_growing_shapes(setup: TranslationSetup) -> TranslationSetup:
    """Back to sessions that rows can join, as documents need them."""
    return replace(setup, model=_plain(setup.model))


def _plain(model: Translates) -> Translates:
    if isinstance(model, Ensemble):
        return Ensemble([_plain(each) for each in model.models], mode=model.mode)
    return model.plain if isinstance(model, StaticOpener) else model
