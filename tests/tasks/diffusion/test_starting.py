import numpy as np
import pytest
import torch

from tests.diffusion_run import LATENT, diffusion_recipe, diffusion_sources
from tests.image_run import sources_of
from trimtab.build import build
from trimtab.errors import InputError
from trimtab.tasks.diffusion.latents import FOLDER
from trimtab.tasks.diffusion.sampling import SampleRequest, sampled
from trimtab.tasks.diffusion.starting import check_patch


def test_a_run_keeps_the_autoencoder_and_needs_the_old_one_no_more(autoencoder_run, tmp_path):
    model = {**LATENT, "autoencoder": str(autoencoder_run)}
    _, datasets = diffusion_sources(tmp_path, model=model)
    assert (datasets.latents.shape.latent_channels, datasets.patches) == (2, 16)
    assert datasets.second_moment == pytest.approx(1, abs=0.01)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(str(autoencoder_run), "/gone"))
    _, again = sources_of(tmp_path)
    assert again.fingerprints == datasets.fingerprints
    assert "autoencoder" in again.fingerprints


def test_a_model_of_latents_learns_from_them_and_makes_whole_images(autoencoder_run, tmp_path):
    parts = build(*diffusion_sources(tmp_path, model={**LATENT, "autoencoder": str(autoencoder_run)}))
    assert parts.model.noised(parts.examples.few()).x.shape == (6, 2, 4, 4)
    assert not any(name.startswith("latents") for name in parts.model.state_dict())
    request = SampleRequest(np.array([0, 1, 2]), np.arange(3, dtype=np.uint64))
    images = sampled(parts.model, request, parts.recipe.model.sampling, device=parts.device)
    assert images.shape == (3, 16, 16, 1)
    assert parts.model.half_precision_copy(torch.bfloat16).latents.mean.dtype == torch.float32


def test_a_folder_of_diffusers_is_taken_too(autoencoder_run, tmp_path):
    _, first = diffusion_sources(tmp_path / "a", model={**LATENT, "autoencoder": str(autoencoder_run)})
    kept = tmp_path / "a" / "tokenizer" / FOLDER
    _, second = diffusion_sources(tmp_path / "b", model={**LATENT, "autoencoder": str(kept)})
    assert second.latents.fingerprint == first.latents.fingerprint
    assert np.array_equal(second.sample.source.values, first.sample.source.values)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data.images.channels": "rgb"}, "other channels"),
        ({"model.patch": 3}, r"patches do not divide the latents[\s\S]*1, 2, 4"),
        ({"model.autoencoder": "nowhere"}, "nowhere"),
    ],
    ids=["channels", "patch", "no run"],
)
def test_what_does_not_fit_is_refused(autoencoder_run, tmp_path, changes, words):
    model = {**LATENT, "autoencoder": str(autoencoder_run)}
    with pytest.raises(InputError, match=words):
        diffusion_sources(tmp_path, model=model, **changes)


def test_a_run_of_another_kind_is_no_autoencoder(diffusion_run, tmp_path):
    path = diffusion_recipe(tmp_path, model={**LATENT, "autoencoder": str(diffusion_run)})
    with pytest.raises(InputError, match="no autoencoder"):
        sources_of(path.parent)


def test_patches_of_latents_divide_them():
    check_patch(2, 8)
    with pytest.raises(InputError, match=r"set `model\.patch: 4`"):
        check_patch(5, 8)
