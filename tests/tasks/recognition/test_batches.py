from dataclasses import replace

import torch

from tests.image_run import reader_arm
from trimtab.tasks.recognition.batches import cut
from trimtab.tasks.recognition.validation import losses_by_image


def test_batches_of_one_shape_give_what_others_give(opened_both):
    parts, model, _ = reader_arm(opened_both, {"registers": 2})
    window = parts.examples.between(0, 6)
    shapes = [replace(parts.batching.shape, sort=False, fixed=fixed) for fixed in (False, True)]
    (free,), (fixed,) = (list(cut(window.source, window.target, shape, start=2)) for shape in shapes)
    assert fixed.patches.stream.cu_seqlens[-1] == fixed.patches.real.numel() > free.patches.real.numel()
    with torch.no_grad():
        assert torch.allclose(losses_by_image(model, free), losses_by_image(model, fixed), atol=1e-4)
        one, other = (model.column_logits(each, model.read(each.patches)) for each in (free, fixed))
    assert torch.allclose(one, other, atol=1e-5)


def test_a_blank_batch_has_a_loss_and_gradients_of_zero(opened_both):
    parts, model, batch = reader_arm(opened_both, {})
    out = parts.stepper.objective(batch.blank())
    out.objective.backward()
    assert float(out.objective.detach()) == float(out.loss) == 0
    assert all(each.grad is None or not each.grad.any() for each in model.parameters())
