from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.build import build
from trimtab.tasks.recognition.batches import cut
from trimtab.tasks.recognition.checks import with_pixels
from trimtab.tasks.recognition.reading import read_batch
from trimtab.tasks.recognition.validation import losses_by_image

ARMS = [
    {"stem": "conv", "positions": "learned", "registers": 0},
    {"stem": "patch", "positions": "factorised", "registers": 3},
    {"stem": "conv", "positions": "sinusoidal", "registers": 1},
]


def arm(opened, changes):
    """The model of the small recognizer with other settings, ready to read, and a batch of its images."""
    recipe, datasets = opened
    model = recipe.model.model_copy(update=changes)
    parts = build(recipe.model_copy(update={"model": model}), datasets)
    return parts, parts.model.eval(), parts.examples.few()


@pytest.mark.parametrize("changes", ARMS)
def test_what_is_between_the_images_changes_no_bit(opened_both, changes):
    _, model, batch = arm(opened_both, changes)
    other = with_pixels(batch, ~batch.patches.real)
    assert not torch.equal(other.patches.pixels, batch.patches.pixels)
    with torch.no_grad():
        memory, changed = model.read(batch.patches), model.read(other.patches)
        assert torch.equal(memory, changed)
        assert torch.equal(model.column_logits(batch, memory), model.column_logits(other, changed))
        assert torch.equal(model(batch), model(other))


@pytest.mark.parametrize("changes", ARMS)
def test_an_image_alone_gives_what_it_gives_beside_others(opened_both, changes):
    parts, model, batch = arm(opened_both, changes)
    with torch.no_grad():
        together = model.column_logits(batch, model.read(batch.patches)).split(list(batch.widths))
        for number in range(batch.num_segments):
            one = parts.examples.one_batch(number, number + 1)
            alone = model.column_logits(one, model.read(one.patches))
            assert torch.allclose(together[number], alone, atol=1e-5, rtol=0)


def test_no_batch_changes_what_is_read(opened_both):
    parts, model, batch = arm(opened_both, {})
    charset = parts.datasets.charset
    for head in ("ctc", "attention"):
        together = read_batch(model, batch, charset, head=head, most=8)
        alone = [
            read_batch(model, parts.examples.one_batch(number, number + 1), charset, head=head, most=8)[0]
            for number in range(batch.num_segments)
        ]
        assert [each.text for each in together] == [each.text for each in alone]


def test_batches_of_one_shape_give_what_others_give(opened_both):
    parts, model, _ = arm(opened_both, {"registers": 2})
    window = parts.examples.between(0, 6)
    shapes = [replace(parts.batching.shape, sort=False, fixed=fixed) for fixed in (False, True)]
    (free,), (fixed,) = (list(cut(window.source, window.target, shape, start=2)) for shape in shapes)
    assert fixed.patches.stream.cu_seqlens[-1] == fixed.patches.real.numel() > free.patches.real.numel()
    with torch.no_grad():
        assert torch.allclose(losses_by_image(model, free), losses_by_image(model, fixed), atol=1e-4)
        one, other = (model.column_logits(each, model.read(each.patches)) for each in (free, fixed))
    assert torch.allclose(one, other, atol=1e-5)


def test_images_of_several_heights_are_read_as_alone(own_cache, tmp_path_factory):
    from tests.image_run import image_sources

    changes = {"data.images": {"fit": "longest", "size": 64, "augment": None}, "model.patch": [8, 4]}
    opened = image_sources(tmp_path_factory.mktemp("heights"), **changes)
    parts, model, batch = arm(opened, {})
    assert len(set(batch.heights)) > 1
    with torch.no_grad():
        together = model(batch).split(list(batch.widths))
        for number in (0, 3):
            alone = model(parts.examples.one_batch(number, number + 1))
            assert torch.allclose(together[number], alone, atol=1e-5)
        assert torch.isfinite(losses_by_image(model, batch)).all()


def test_stochastic_depth_skips_whole_images_in_training_alone(opened):
    _, model, batch = arm(opened, {"drop_path": 0.5, "layers": 2})
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


@given(st.integers(0, 5), st.integers(1, 6))
@settings(max_examples=10, deadline=None)
def test_the_gradient_of_a_step_does_not_depend_on_how_it_is_cut(opened_both, first, count):
    parts, model, _ = arm(opened_both, {})
    whole = parts.examples.one_batch(first, first + count)
    parts.stepper.objective(whole).objective.backward()
    expected = [each.grad.clone() for each in model.parameters() if each.grad is not None]
    model.zero_grad()
    for number in range(count):
        parts.stepper.objective(
            parts.examples.one_batch(first + number, first + number + 1)
        ).objective.backward()
    found = [each.grad for each in model.parameters() if each.grad is not None]
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other, atol=1e-4, rtol=1e-3)
