"""Chooses the clip that a recipe asks for."""

from typing import assert_never

from trimtab.config.step import Clip as ClipConfig
from trimtab.config.step import ClipAdaptive, ClipGlobalNorm, ClipOff
from trimtab.step.clip.adaptive import AdaptiveClip
from trimtab.step.clip.global_norm import GlobalNormClip
from trimtab.step.clip.protocol import Clip


def build_clip(config: ClipConfig) -> Clip:
    """A clip of this kind, which has learned nothing yet."""
    match config:
        case ClipGlobalNorm():
            return GlobalNormClip(config.at)
        case ClipOff():
            return GlobalNormClip(None)
        case ClipAdaptive():
            return AdaptiveClip(config)
        case _:
            assert_never(config)
