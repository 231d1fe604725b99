"""Clipping by component: each by itself, the direction it changes, and the counts that a run keeps."""

import pytest
import torch

from trimtab.step.clip.component import ComponentClip, Components
from trimtab.step.clip.global_norm import GlobalNormClip

OWNERS = Components(("encoder.shared", "decoder.de"), (0, 1, 0))


def gradients(*, scale: float = 1.0) -> list[torch.Tensor]:
    return [scale * torch.tensor(each) for each in ([3.0, 0.0], [0.3], [0.0, 4.0])]


def test_each_component_is_scaled_to_its_own_norm() -> None:
    clip, found = ComponentClip(1.0, OWNERS), gradients()
    norm, clipped = clip(found)
    assert norm == pytest.approx(25.09**0.5)
    assert clipped == 0.5
    assert torch.cat([found[0], found[2]]).norm() == pytest.approx(1.0)
    assert found[1] == pytest.approx(0.3)


def test_the_cosine_is_that_of_the_gradient_before_and_after() -> None:
    clip, found = ComponentClip(1.0, OWNERS), gradients()
    clip(found)
    before, after = torch.cat(gradients()), torch.cat(found)
    assert clip.cosine == pytest.approx(float(torch.cosine_similarity(before, after, dim=0)), abs=1e-6)
    together, others = gradients(), torch.cat(gradients())
    GlobalNormClip(1.0)(together)
    assert torch.cosine_similarity(others, torch.cat(together), dim=0) == pytest.approx(1.0, abs=1e-6)


def test_a_skipped_step_is_not_counted_and_counts_survive_a_checkpoint() -> None:
    clip = ComponentClip(1.0, OWNERS)
    assert clip.details() is None
    for skipped in (False, True, False):
        clip(gradients())
        clip.after(torch.tensor(skipped))
    details = clip.details()
    assert details is not None
    assert clip.named(details.tolist())["n_clips"] == {"encoder.shared": 2, "decoder.de": 0}
    resumed = ComponentClip(1.0, OWNERS)
    resumed.from_dict(clip.to_dict())
    assert resumed.n_clips is not None
    assert resumed.n_clips.tolist() == [2, 0]


def test_a_loss_scale_is_taken_out_before_norms_are_compared() -> None:
    clip, found = ComponentClip(1.0, OWNERS), gradients(scale=1024)
    norm, _ = clip(found, unscale=torch.tensor(1 / 1024))
    assert norm == pytest.approx(25.09**0.5, rel=1e-4)
    assert found[1] == pytest.approx(0.3, rel=1e-4)
