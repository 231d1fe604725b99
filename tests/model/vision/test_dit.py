import pytest
import torch

from trimtab.config.diffusion_model import DiffusionModel
from trimtab.model.vision.dit import DiT, equal_segments, grid_places, init_dit, time_waves


def network(*, filled=True, side=8, channels=2, **changes):
    given = {"dim": 16, "heads": 2, "layers": 2, "feed_forward": 32, "patch": 2, **changes}
    config = DiffusionModel.model_validate(given)
    dit = DiT(config, channels=channels, side=side, labels=3)
    init_dit(dit, config, generator=torch.Generator().manual_seed(1))
    if filled:
        with torch.no_grad():
            for name, weight in dit.named_parameters():
                if "modulation" in name:
                    weight.normal_(0, 0.2, generator=torch.Generator().manual_seed(len(name)))
    return dit.eval()


def inputs(count=3, side=8, channels=2):
    x = torch.randn(count, channels, side, side, generator=torch.Generator().manual_seed(2))
    return x, torch.linspace(0.1, 0.9, count), torch.arange(count) % 4


def test_an_untrained_block_changes_nothing():
    dit, (x, t, labels) = network(filled=False), inputs()
    seen = []
    for block in dit.blocks:
        block.register_forward_hook(lambda _, given, out: seen.append((given[0], out)))
    dit(x, t, labels, padded=True)
    assert all(torch.equal(before, after) for before, after in seen)


@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "norm": "rms"}, {"activation": "geglu"}])
def test_each_image_is_predicted_by_itself(changes):
    dit, (x, t, labels) = network(**changes), inputs()
    whole = dit(x, t, labels, padded=True)
    for image in range(3):
        part = slice(image, image + 1)
        torch.testing.assert_close(dit(x[part], t[part], labels[part], padded=True), whole[part])


def test_patches_come_back_to_where_they_were():
    """With the identity as output and no block, each patch is a linear map of itself."""
    dit, (x, t, labels) = network(layers=1, dim=8), inputs()
    with torch.no_grad():
        for name, weight in dit.named_parameters():
            if "modulation" in name or name.startswith("output"):
                weight.zero_()
        dit.output.bias.copy_(torch.arange(8.0))
    out = dit(x, t, labels, padded=True)
    # Channel by channel, and in each the rows of a patch: of every patch the same.
    assert torch.equal(out[0, 0, :2, :2], torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
    assert torch.equal(out[0, 1, 4:6, 2:4], torch.tensor([[4.0, 5.0], [6.0, 7.0]]))


def test_a_patch_knows_its_place():
    dit, (x, t, labels) = network(), inputs(1)
    same = torch.ones_like(x)
    out = dit(same, t, labels, padded=True)
    assert not torch.allclose(out[..., :2, :2], out[..., 2:4, :2], atol=1e-4)
    assert not torch.allclose(out[..., :2, :2], out[..., :2, 2:4], atol=1e-4)


def test_times_that_are_near_have_waves_that_are_near_in_half_precision_too():
    near = time_waves(torch.tensor([0.5, 0.5005, 0.9], dtype=torch.float32))
    assert near.shape == (3, 256)
    torch.testing.assert_close(near.square().sum(1), torch.full((3,), 128.0))
    first, second = ((near[0] - near[each]).norm() for each in (1, 2))
    assert 0 < float(first) < float(second)


def test_segments_are_those_of_images_of_one_size():
    stream = equal_segments(3, 4, device=torch.device("cpu"))
    assert stream.cu_seqlens.tolist() == [0, 4, 8, 12]
    assert stream.max_seqlen == 4
    assert stream.segments.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert stream.positions.tolist() == [0, 1, 2, 3] * 3
    rows, columns = grid_places(2, device=torch.device("cpu"))
    assert rows.tolist() == [0, 0, 1, 1]
    assert columns.tolist() == [0, 1, 0, 1]
