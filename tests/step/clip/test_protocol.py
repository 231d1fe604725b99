import pytest

from trimtab.config.step import ClipAdaptive
from trimtab.step.clip.adaptive import AdaptiveClip
from trimtab.step.clip.global_norm import GlobalNormClip
from trimtab.step.clip.protocol import Clip


@pytest.mark.parametrize("clip", [GlobalNormClip(1.0), AdaptiveClip(ClipAdaptive())])
def test_both_kinds_are_what_the_step_asks_for(clip):
    assert isinstance(clip, Clip)
