import pytest
import torch

from trimtab.config.step import ClipAdaptive, ClipGlobalNorm, ClipOff
from trimtab.step.clip.build import build_clip
from trimtab.step.clip.protocol import Clip


@pytest.mark.parametrize("config", [ClipGlobalNorm(), ClipAdaptive(), ClipOff()], ids=lambda c: c.kind)
def test_every_kind_gives_a_clip_that_measures_the_norm(config):
    clip = build_clip(config)
    assert isinstance(clip, Clip)
    norm, _ = clip([torch.tensor([3.0]), torch.tensor([4.0])])
    assert norm == 5
