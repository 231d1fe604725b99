import pytest
import torch

from tests.for_each import for_each
from trimtab.model.vision.autoencoder import Autoencoder, AutoencoderShape, init_autoencoder

TAESD = AutoencoderShape(3, 4, 64, (1, 3, 3, 3))


def network(shape=None):
    made = Autoencoder(shape or AutoencoderShape(1, 2, 8, (1, 1, 1)))
    init_autoencoder(made, generator=torch.Generator().manual_seed(1))
    return made


def test_it_has_the_shape_of_taesd():
    """Sizes and names as `AutoencoderTiny()` of diffusers 0.42.1 has them."""
    with torch.device("meta"):
        made = Autoencoder(TAESD)
    weights = {name: tuple(weight.shape) for name, weight in made.named_parameters()}
    assert sum(weight.numel() for weight in made.parameters()) == 2_445_063
    assert weights["encoder.layers.0.weight"] == (64, 3, 3, 3)
    assert weights["encoder.layers.1.conv.4.bias"] == (64,)
    assert weights["encoder.layers.2.weight"] == (64, 64, 3, 3)
    assert "encoder.layers.2.bias" not in weights  # the first one with a stride
    assert weights["encoder.layers.14.weight"] == (4, 64, 3, 3)
    assert weights["decoder.layers.0.weight"] == (64, 4, 3, 3)
    assert "decoder.layers.6.bias" not in weights
    assert weights["decoder.layers.18.bias"] == (3,)


@pytest.mark.slow
def test_diffusers_computes_the_same(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    made = network(TAESD)
    other = diffusers.AutoencoderTiny().eval()
    other.load_state_dict(made.state_dict())
    x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(2)) * 2 - 1
    with torch.no_grad():
        z = made.encode(x)
        assert torch.allclose(other.encode(x).latents, z, atol=1e-6)
        assert torch.allclose(other.decode(z).sample, made.decode(z), atol=1e-5)


def test_an_untrained_one_gives_grey_images_of_the_same_size():
    x = torch.rand(2, 1, 16, 24, generator=torch.Generator().manual_seed(2)) * 2 - 1
    with torch.no_grad():
        z = network().encode(x)
        back = network().decode(z)
    assert z.shape == (2, 2, 4, 6)
    assert back.shape == x.shape
    assert float(back.abs().mean()) < 0.3


def test_gradients_are_the_same_where_blocks_are_computed_again():
    x = torch.rand(2, 1, 16, 16, generator=torch.Generator().manual_seed(2))
    found = []
    for recompute in ("none", "block"):
        made = network()
        made.encoder.recompute = made.decoder.recompute = recompute
        made.decode(made.encode(x)).square().sum().backward()
        found.append(torch.cat([weight.grad.flatten() for weight in made.parameters()]))
    assert torch.equal(*found)


@for_each("channels", [1, 3])
def test_channels_last_changes_no_value(channels, monkeypatch):
    """Images and gradients, in float64, where a rounding of another order is 1e-15."""
    made = network(AutoencoderShape(channels, 2, 8, (1, 1, 1))).double()
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(2, channels, 16, 24, generator=generator, dtype=torch.float64) * 2 - 1
    found = []
    for layout in (torch.channels_last, torch.contiguous_format):
        monkeypatch.setattr(torch, "channels_last", layout)
        made.zero_grad()
        back = made.decode(made.encode(x))
        back.square().sum().backward()
        found.append(
            torch.cat([back.detach().flatten(), *(each.grad.flatten() for each in made.parameters())])
        )
    assert torch.allclose(*found, rtol=0, atol=1e-12)


@for_each("channels", [1, 3])
def test_every_convolution_reads_channels_last_and_weights_keep_the_layout_of_files(channels):
    made = network(AutoencoderShape(channels, 2, 8, (1, 1, 1)))
    read = []
    for layer in made.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(lambda _, given, __: read.append(given[0]))
    made.decode(made.encode(torch.rand(2, channels, 16, 16))).sum().backward()
    assert read
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in read)
    assert all(each.is_contiguous() and each.grad.is_contiguous() for each in made.parameters())
