"""Chooses the clip that a recipe asks for."""

from collections.abc import Callable
from typing import assert_never

from torch import Tensor

from trimtab.config.step import Clip as ClipConfig
from trimtab.config.step import ClipAdaptive, ClipComponent, ClipGlobalNorm, ClipOff
from trimtab.step.clip.adaptive import AdaptiveClip
from trimtab.step.clip.component import ComponentClip, Components
from trimtab.step.clip.global_norm import GlobalNormClip
from trimtab.step.clip.protocol import Clip


def build_clip(
    config: ClipConfig,
    *,
    components: Components | None = None,
    squares_of_step: Callable[[], Tensor] | None = None,
) -> Clip:
    """A clip of this kind, which has learned nothing yet; `components` are those of a modular model. `squares_of_step`
    gives the squared norms of the components over all ranks, where ranks train different ones."""
    squares = squares_of_step
    norm_of_step = None if squares is None else lambda: squares().sum().sqrt().float()
    match config:
        case ClipGlobalNorm():
            return GlobalNormClip(config.at, norm_of_step=norm_of_step)
        case ClipOff():
            return GlobalNormClip(None, norm_of_step=norm_of_step)
        case ClipAdaptive():
            return AdaptiveClip(config)
        case ClipComponent():
            assert components is not None, "recipes of other models are refused"
            return ComponentClip(config.at, components, squares_of_step=squares_of_step)
        case _:
            assert_never(config)
