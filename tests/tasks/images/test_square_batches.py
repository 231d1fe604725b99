import torch

from trimtab.types import Batch


def test_a_batch_is_what_every_step_asks_for(square_parts):
    batch = square_parts.examples.few()
    assert isinstance(batch, Batch)
    assert batch.num_targets == batch.num_slots == batch.num_tokens == 6
    blank = batch.blank()
    assert blank.static_key == batch.static_key
    assert blank.num_targets == 0
    assert float(square_parts.stepper.objective(blank).objective.detach()) == 0
    assert all(torch.equal(*pair) for pair in zip(batch.clone().tensors(), batch.tensors(), strict=True))
