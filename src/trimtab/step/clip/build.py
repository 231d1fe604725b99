"""Chooses the clip that a recipe asks for."""

from typing import assert_never

from trimtab.config.step import Clip as ClipConfig
from trimtab.config.step import ClipAdaptive, ClipComponent, ClipGlobalNorm, ClipOff
from trimtab.step.clip.adaptive import AdaptiveClip
from trimtab.step.clip.component import ComponentClip, Components
from trimtab.step.clip.global_norm import GlobalNormClip
from trimtab.step.clip.protocol import Clip


def build_clip(config: ClipConfig, *, components: Components | None = None) -> Clip:
    """A clip of this kind, which has learned nothing yet; `components` are those of a modular model."""
    match config:
        case ClipGlobalNorm():
            return GlobalNormClip(config.at)
        case ClipOff():
            return GlobalNormClip(None)
        case ClipAdaptive():
            return AdaptiveClip(config)
        case ClipComponent():
            assert components is not None, "recipes of other models are refused"
            return ComponentClip(config.at, components)
        case _:
            assert_never(config)
