import torch

from trimtab.tasks.examples import Examples


def test_checks_get_what_they_ask_for(square_parts):
    examples = square_parts.examples
    assert isinstance(examples, Examples)
    assert examples.few().num_targets == 6
    assert sum(batch.num_targets for batch in examples.first()) == 48
    fullest = examples.fullest()
    assert fullest.num_slots == square_parts.batching.shape.images


def test_a_step_in_pieces_is_the_step(square_parts):
    cuts = [*square_parts.examples.cuts()]
    assert len(cuts) == 1  # of 48 images
    (cut,) = cuts
    assert cut.num_targets == 32 == sum(piece.num_targets for piece in cut.pieces)
    for whole, *pieces in zip(cut.whole.tensors(), *(p.tensors() for p in cut.pieces), strict=True):
        assert torch.equal(torch.cat(pieces), whole)
