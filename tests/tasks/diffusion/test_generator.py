import json

import numpy as np
import pytest

from trimtab.errors import InputError
from trimtab.tasks.diffusion.generator import load_image_generator


@pytest.fixture(scope="module")
def generator(diffusion_run):
    return load_image_generator(diffusion_run)


@pytest.mark.slow
def test_an_image_follows_from_seed_place_and_class_alone(generator):
    whole = generator.sample(["disk", "square", "disk"])
    assert whole.shape == (3, 16, 16, 1)
    assert whole.dtype == np.uint8
    # In another batch sums are made in another order.
    assert np.abs(generator.sample(["disk"]).astype(int) - whole[:1]).max() <= 1
    assert np.array_equal(generator.sample(["disk", "square", "disk"], seed=1), whole)
    assert not np.array_equal(generator.sample(["disk", "square", "disk"], seed=2), whole)
    assert not np.array_equal(generator.sample(["square", "square", "disk"])[0], whole[0])
    assert generator.sample([]).shape == (0, 16, 16, 1)


def test_without_a_class_guidance_has_no_effect(generator):
    found = [generator.sample([None, None], guidance=scale) for scale in (0.0, 1.0, 5.0)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_class_is_ignored_at_a_guidance_of_0(generator):
    found = [generator.sample([name], guidance=0.0) for name in ("disk", "square", None)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classes": ["triangle"]}, "disk, square"),
        ({"steps": 0}, "steps: out of range"),
        ({"guidance": -1.0}, "guidance: out of range"),
        ({"guidance": float("nan")}, "guidance: out of range"),
        ({"sampler": "heun"}, "euler or ddim"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_the_model_cannot_do_is_refused(generator, given, words):
    with pytest.raises(InputError, match=words):
        generator.sample(given.pop("classes", ["disk"]), **given)


def test_guidance_is_refused_where_no_class_was_ever_hidden(generator):
    from dataclasses import replace

    model = generator.recipe.model.model_copy(update={"class_dropout": 0.0})
    without = replace(generator, recipe=generator.recipe.model_copy(update={"model": model}))
    with pytest.raises(InputError, match=r"class_dropout: 0.1"):
        without.sample(["disk"], guidance=3.0)
    assert len(without.sample(["disk"], guidance=1.0)) == 1


def test_the_nearest_of_a_training_image_is_itself(generator):
    places, pixels = generator.training_images
    assert len(places) == 48
    found = generator.nearest(pixels[[5, 40]])
    assert [each.place for each in found] == [places[5], places[40]]
    assert [each.distance for each in found] == [0, 0]


def test_other_runs_and_other_classes_are_refused(diffusion_run, tmp_path):
    import shutil

    with pytest.raises(InputError):
        load_image_generator(tmp_path / "missing")
    copy = shutil.copytree(diffusion_run, tmp_path / "copy")
    (copy / "tokenizer" / "labels.json").write_text('["disk", "triangle"]')
    with pytest.raises(InputError, match="not the classes that the model was trained with"):
        load_image_generator(copy)


@pytest.mark.slow
def test_a_model_of_latents_makes_images_of_the_size_of_the_recipe(latent_run):
    generator = load_image_generator(latent_run)
    found = generator.sample(["disk", "square", None], seed=3)
    assert found.shape == (3, 16, 16, 1)
    assert np.abs(generator.sample(["disk"], seed=3).astype(int) - found[:1]).max() <= 1
    own = latent_run / "tokenizer" / "autoencoder" / "latents.json"
    text = own.read_text()
    try:
        told = json.loads(text)
        own.write_text(json.dumps({**told, "std": [2 * each for each in told["std"]]}))
        with pytest.raises(InputError, match="not the autoencoder that the model was trained with"):
            load_image_generator(latent_run)
    finally:
        own.write_text(text)


@pytest.mark.gpu
def test_a_model_of_latents_trains_and_samples_on_a_gpu(latent_run):
    """Images of the check before the run are encoded where the autoencoder is."""
    found = load_image_generator(latent_run, device="cuda").sample(["disk", "square"])
    assert found.shape == (2, 16, 16, 1)
