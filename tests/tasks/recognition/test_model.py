import pytest
import torch

from tests.image_run import reader_arm
from trimtab.tasks.recognition.checks import with_pixels
from trimtab.tasks.recognition.validation import losses_by_image

ARMS = [
    {"stem": "conv", "positions": "learned", "registers": 0},
    {"stem": "patch", "positions": "factorised", "registers": 3},
    {"stem": "conv", "positions": "sinusoidal", "registers": 1},
]


@pytest.mark.parametrize("changes", ARMS)
def test_what_is_between_the_images_changes_no_bit(opened_both, changes):
    _, model, batch = reader_arm(opened_both, changes)
    other = with_pixels(batch, ~batch.patches.real)
    assert not torch.equal(other.patches.pixels, batch.patches.pixels)
    with torch.no_grad():
        memory, changed = model.read(batch.patches), model.read(other.patches)
        assert torch.equal(memory, changed)
        assert torch.equal(model.column_logits(batch, memory), model.column_logits(other, changed))
        assert torch.equal(model(batch), model(other))


@pytest.mark.parametrize("changes", ARMS)
def test_an_image_alone_gives_what_it_gives_beside_others(opened_both, changes):
    parts, model, batch = reader_arm(opened_both, changes)
    with torch.no_grad():
        together = model.column_logits(batch, model.read(batch.patches)).split(list(batch.widths))
        for number in range(batch.num_segments):
            one = parts.examples.one_batch(number, number + 1)
            alone = model.column_logits(one, model.read(one.patches))
            assert torch.allclose(together[number], alone, atol=1e-5, rtol=0)


def test_images_of_several_heights_are_read_as_alone(own_cache, tmp_path_factory):
    from tests.image_run import image_sources

    changes = {"data.images": {"fit": "longest", "size": 64, "augment": None}, "model.patch": [8, 4]}
    opened = image_sources(tmp_path_factory.mktemp("heights"), **changes)
    parts, model, batch = reader_arm(opened, {})
    assert len(set(batch.heights)) > 1
    with torch.no_grad():
        together = model(batch).split(list(batch.widths))
        for number in (0, 3):
            alone = model(parts.examples.one_batch(number, number + 1))
            assert torch.allclose(together[number], alone, atol=1e-5)
        assert torch.isfinite(losses_by_image(model, batch)).all()


def test_stochastic_depth_skips_whole_images_in_training_alone(opened):
    _, model, batch = reader_arm(opened, {"drop_path": 0.5, "layers": 2})
    with torch.no_grad():
        assert torch.equal(model(batch), model(batch))
        model.train()
        torch.manual_seed(1)
        one, other = model(batch), model(batch)
    same = [
        torch.equal(a, b)
        for a, b in zip(one.split(list(batch.widths)), other.split(list(batch.widths)), strict=True)
    ]
    assert any(same)
    assert not all(same)
