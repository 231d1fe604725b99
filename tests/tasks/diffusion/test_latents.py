import json

import numpy as np
import pytest
import torch

from trimtab.errors import InputError
from trimtab.model.vision.autoencoder import Autoencoder, AutoencoderShape, init_autoencoder
from trimtab.tasks.diffusion.latents import (
    CONFIG,
    STATISTICS,
    WEIGHTS,
    Latents,
    measured,
    read_latents,
    read_network,
    write_latents,
)

PIXELS = np.random.default_rng(1).integers(0, 256, (70, 1, 16, 16), dtype=np.uint8)


def network():
    made = Autoencoder(AutoencoderShape(1, 3, 8, (1, 2)))
    init_autoencoder(made, generator=torch.Generator().manual_seed(1))
    return made


@pytest.fixture
def folder(tmp_path):
    made = network()
    write_latents(made, measured(made, PIXELS), tmp_path / "autoencoder")
    return tmp_path / "autoencoder"


def test_latents_have_no_mean_and_unit_variance_and_come_back(folder):
    latents = read_latents(folder)
    x = torch.from_numpy(PIXELS).float() / 127.5 - 1
    z = latents.encode(x)
    assert torch.allclose(z.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-3)
    assert torch.allclose(z.std(dim=(0, 2, 3)), torch.ones(3), atol=1e-3)
    made = network()
    with torch.no_grad():
        assert torch.allclose(latents.decode(z), made.decode(made.encode(x)), atol=1e-4)


def test_nothing_of_it_is_trained_or_saved_and_it_moves_with_the_model(folder):
    latents = read_latents(folder)
    assert not list(latents.parameters())
    assert latents.state_dict() == {}
    assert latents.double().mean.dtype == torch.float64


def test_the_fingerprint_is_that_of_weights_and_statistics(folder):
    first = read_latents(folder).fingerprint
    assert read_latents(folder).fingerprint == first
    told = json.loads((folder / STATISTICS).read_text())
    (folder / STATISTICS).write_text(json.dumps({**told, "std": [1.0, 1.0, 1.0]}))
    assert read_latents(folder).fingerprint != first


def test_one_scale_for_all_channels_gives_diffusers_unit_variance(folder):
    told = json.loads((folder / CONFIG).read_text())
    with torch.no_grad():
        z = network().encode(torch.from_numpy(PIXELS).float() / 127.5 - 1)
    scaled = (z - told["shift_factor"]) * told["scaling_factor"]
    assert float(scaled.std()) == pytest.approx(1, abs=1e-3)
    assert float(scaled.mean()) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (CONFIG, {"_class_name": "AutoencoderKL"}, "no autoencoder of this shape"),
        (CONFIG, {"act_fn": "silu"}, "no autoencoder of this shape"),
        (CONFIG, {"encoder_block_out_channels": [8, 16]}, "no autoencoder of this shape"),
        (CONFIG, {"num_encoder_blocks": "many"}, "no autoencoder of this shape"),
        (CONFIG, {"in_channels": 10**9}, "no autoencoder of this shape"),
        (CONFIG, {"latent_channels": 4}, "not the weights of this autoencoder"),
        (STATISTICS, {"std": [0.0, 1.0, 1.0]}, "no statistics of these latents"),
        (STATISTICS, {"mean": [0.0]}, "no statistics of these latents"),
        (STATISTICS, {"mean": None}, "no statistics of these latents"),
    ],
)
def test_a_damaged_folder_is_refused(folder, name, change, words):
    told = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**told, **change}))
    with pytest.raises(InputError, match=words):
        read_latents(folder)


def test_weights_that_are_damaged_or_not_finite_are_refused(folder):
    made = network()
    statistics = measured(made, PIXELS)
    with torch.no_grad():
        made.encoder.layers[0].weight[0, 0, 0, 0] = torch.nan
    write_latents(made, statistics, folder)
    with pytest.raises(InputError, match="not finite"):
        read_network(folder)
    with pytest.raises(InputError, match="not finite"):
        measured(made, PIXELS)
    (folder / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(InputError, match="not the weights"):
        read_network(folder)


def test_a_channel_that_never_changes_is_not_divided_by_zero():
    made = network()
    with torch.no_grad():
        made.encoder.layers[-1].weight[1].zero_()
    latents = Latents(made, measured(made, PIXELS))
    assert bool(torch.isfinite(latents.encode(torch.zeros(1, 1, 16, 16))).all())
