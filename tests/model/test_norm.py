import pytest
import torch

from trimtab.model.norm import build_norm


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_norm_brings_vectors_to_unit_scale(kind):
    x = torch.randn(5, 64) * 30
    torch.testing.assert_close(build_norm(kind, 64)(x).square().mean(1), torch.ones(5), atol=1e-3, rtol=0)


def test_only_layer_norm_removes_the_mean():
    x = torch.randn(5, 64) + 10
    assert build_norm("layer", 64)(x).mean(1).abs().max() < 1e-4
    assert build_norm("rms", 64)(x).mean(1).min() > 0.9
