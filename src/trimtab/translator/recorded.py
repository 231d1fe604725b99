"""Translation whose decoder steps are recorded as CUDA graphs, on a GPU in half precision."""

from dataclasses import replace

import torch

from trimtab.decode.ensemble import Ensemble
from trimtab.decode.setup import TranslationSetup
from trimtab.flow import Translates
from trimtab.model.session import SessionOpener
from trimtab.model.static.opener import StaticOpener


def recorded(setup: TranslationSetup) -> TranslationSetup:
    """The same translations by recorded steps; the setup as it is on a CPU, where nothing is recorded.

    Not what translators do by default: that waits for a measurement on a GPU, for which `benchmarks/beam_speed.py` has
    a setting. The recordings belong to the setup, so it pays to keep a translator.
    """
    return replace(setup, model=in_fixed_shapes(setup.model)) if setup.device.type == "cuda" else setup


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
