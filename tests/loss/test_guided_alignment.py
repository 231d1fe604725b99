import pytest
import torch

from trimtab.loss import guided_alignment
from trimtab.loss.guided_alignment import alignment_loss, plain_alignment_loss
from trimtab.types import TokenLinks

TARGETS, SOURCES = torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 0, 1, 1, 1, 3])
LINKS = TokenLinks(
    torch.tensor([0, 0, 2, 3, 4, 0]),
    torch.tensor([0, 1, 1, 2, 4, 0]),
    torch.tensor([0.5, 0.5, 1.0, 1.0, 1.0, 0.0]),
)


def found(of, **options):
    torch.manual_seed(1)
    queries, keys = torch.randn(6, 8, requires_grad=True), torch.randn(6, 8, requires_grad=True)
    with torch.autocast("cpu", enabled=options.get("half", False)):
        loss = of(queries, keys, LINKS, target_segments=TARGETS, source_segments=SOURCES)
        loss.backward()
    return loss.detach(), queries.grad, keys.grad


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_it_is_the_cross_entropy_of_the_attention_written_out(monkeypatch, at_once):
    monkeypatch.setattr(guided_alignment, "TARGETS_AT_ONCE", at_once)
    for fast, slow in zip(found(alignment_loss), found(plain_alignment_loss), strict=True):
        torch.testing.assert_close(fast, slow)


def test_half_precision_of_the_model_does_not_reach_it():
    for half, whole in zip(found(alignment_loss, half=True), found(alignment_loss), strict=True):
        assert torch.equal(half, whole)


def test_a_target_without_sources_in_its_segment_has_no_effect():
    _, of_queries, of_keys = found(alignment_loss)
    assert of_queries[5].abs().sum() == 0
    assert of_keys[5].abs().sum() == 0
    assert of_queries.isfinite().all()
