import torch
from torch import nn

from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.model.block import SelfAttention
from trimtab.model.vision.fill import draw, fill_layer
from trimtab.model.vision.places import LearnedPlaces

CONFIG = ImageClassifierModel.model_validate({"preset": "tiny"})


def filled(module, damp=1.0):
    fill_layer(module, CONFIG, damp=damp, generator=torch.Generator().manual_seed(1))
    return module


def test_what_is_added_to_the_residual_stream_is_damped():
    one, half = (filled(SelfAttention(CONFIG), damp) for damp in (1.0, 0.5))
    assert torch.equal(one.qkv.weight, half.qkv.weight)
    assert torch.allclose(0.5 * one.out.weight, half.out.weight)


def test_convolutions_keep_the_variance_and_places_have_that_of_the_recipe():
    weight = filled(nn.Conv2d(64, 64, 3)).weight
    assert abs(float(weight.std()) - (2 / (64 * 9)) ** 0.5) < 0.002
    assert abs(float(filled(LearnedPlaces(8, 8, 128)).grid.weight.std()) - 0.5) < 0.02


def test_other_layers_stay_as_they_are():
    norm = nn.LayerNorm(4)
    assert torch.equal(filled(norm).weight, torch.ones(4))


def test_the_same_generator_draws_the_same_numbers():
    one, same = torch.empty(5), torch.empty(5)
    for weight in (one, same):
        draw(weight, 2.0, generator=torch.Generator().manual_seed(3))
    assert torch.equal(one, same)
