import numpy as np
import pytest
import torch

from tests.diffusion_run import draw_shape
from trimtab.errors import InputError
from trimtab.tasks.diffusion.autoencoder import autoencoder_of, load_autoencoder, psnr
from trimtab.tasks.diffusion.generator import load_image_generator


def test_it_gives_images_back_one_like_many(autoencoder_run):
    trained = load_autoencoder(autoencoder_run)
    images = np.stack([np.asarray(draw_shape("disk", seed=seed))[..., None] for seed in range(5)])
    back = trained.reconstruct(images)
    assert back.shape == images.shape
    assert back.dtype == np.uint8
    assert np.abs(trained.reconstruct(images[:1]).astype(int) - back[:1]).max() <= 1
    assert len(trained.reconstruct(images[:0])) == 0
    assert trained.model.num_parameters() == sum(each.numel() for each in trained.model.network.parameters())


def test_noise_on_latents_follows_from_the_images_and_is_of_training_alone(autoencoder_run):
    recipe = load_autoencoder(autoencoder_run).recipe
    noisy = recipe.model_copy(update={"model": recipe.model.model_copy(update={"latent_noise": 0.5})})
    from tests.tasks.diffusion.batches import shapes

    model, plain = autoencoder_of(noisy), autoencoder_of(recipe)
    batch = shapes(4)
    assert torch.equal(model.train()(batch), model(batch))
    assert not torch.equal(model(batch), plain(batch))
    assert torch.equal(model.eval()(batch), plain.eval()(batch))


def test_another_kind_of_run_is_refused(diffusion_run, autoencoder_run):
    with pytest.raises(InputError, match="no autoencoder"):
        load_autoencoder(diffusion_run)
    with pytest.raises(InputError, match="makes no images"):
        load_image_generator(autoencoder_run)


def test_decibels_of_an_error():
    assert psnr(4.0) == pytest.approx(0)
    assert psnr(0.004) == pytest.approx(30)
    assert psnr(0.0) > 100
