import pytest
import torch

from trimtab.model.vision.stem import build_stem, normalized_pixels


@pytest.mark.parametrize("kind", ["conv", "patch"])
@pytest.mark.parametrize("patch", [(8, 4), (4, 8), (8, 8), (16, 2)])
def test_a_cell_is_a_patch_and_what_is_not_real_changes_none_of_those_that_are(kind, patch):
    torch.manual_seed(1)
    stem = build_stem(kind, channels=1, patch=patch, dim=16)
    real = torch.tensor([[True, True, False, True, False], [True, True, False, False, False]])
    pixels = torch.randint(0, 256, (1, 2 * patch[0], 5 * patch[1]), dtype=torch.uint8)
    mask = real.repeat_interleave(patch[0], 0).repeat_interleave(patch[1], 1)
    with torch.no_grad():
        found = stem(normalized_pixels(pixels, real, patch), real)
        other = stem(normalized_pixels(torch.where(mask, pixels, 255 - pixels), real, patch), real)
        raw = stem(torch.where(mask, normalized_pixels(pixels, real, patch), torch.nan), real)
    assert found.shape == (16, 2, 5)
    assert torch.equal(found[:, real], other[:, real])
    if kind == "conv":  # which looks at the mask before each convolution, so that not even NaN comes through
        assert torch.equal(found[:, real], raw[:, real])


def test_an_image_beside_a_gap_is_read_as_at_the_edge_of_a_strip():
    torch.manual_seed(1)
    stem = build_stem("conv", channels=1, patch=(8, 4), dim=16)
    pixels = torch.randint(0, 256, (1, 8, 28), dtype=torch.uint8)
    real = torch.tensor([[True, True, True, False, True, True, False]])
    with torch.no_grad():
        strip = stem(normalized_pixels(pixels, real, (8, 4)), real)
        alone = stem(normalized_pixels(pixels[:, :, :12], real[:, :3], (8, 4)), real[:, :3])
    assert torch.allclose(strip[:, :, :3], alone, atol=1e-6)
