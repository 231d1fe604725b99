import torch

from tests.for_each import for_each
from tests.tasks.diffusion.batches import shapes
from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.tasks.image_classification.model import ImageClassifier, strip_of

SMALL = {"dim": 16, "heads": 2, "layers": 2, "feed_forward": 32, "patch": 4, "dropout": 0.0}


def model_of(**changes):
    config = ImageClassifierModel.model_validate({**SMALL, **changes})
    return ImageClassifier(config, num_classes=2, channels=1, side=16, seed=1).eval()


@for_each("pool", ["mean", "softmax", "class_token"])
@torch.no_grad()
def test_an_image_is_the_same_alone_and_among_others(pool):
    for changes in ({}, {"stem": "patch", "registers": 2}):
        model, batch = model_of(pool=pool, **changes), shapes(4)
        whole = model(batch)
        for number in range(4):
            alone = batch.map(lambda tensor, number=number: tensor[number : number + 1])
            assert torch.allclose(model(alone), whole[number : number + 1], atol=1e-5)


@torch.no_grad()
def test_an_untrained_model_gives_every_class_the_same_probability():
    model, batch = model_of(), shapes(4)
    logits = model.logits(model(batch))
    assert float(logits.abs().max()) < 0.5


def test_a_strip_has_each_patch_where_its_image_is():
    pixels = shapes(3).pixels
    strip = strip_of(pixels, 4)
    assert strip.pixels.shape == (1, 16, 3 * 20)
    assert strip.real.sum() == 3 * 16
    cells = strip.pixels.unflatten(1, (-1, 4)).unflatten(3, (-1, 4)).permute(1, 3, 0, 2, 4)
    cells = cells.flatten(0, 1)[strip.stream.ids].view(3, 4, 4, 1, 4, 4)
    assert torch.equal(cells.permute(0, 3, 1, 4, 2, 5).reshape(3, 1, 16, 16), pixels)
    assert torch.equal(strip.rows[:16] * 4 + strip.columns[:16], torch.arange(16))
