import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.loss import guided_alignment
from trimtab.loss.guided_alignment import alignment_loss, plain_alignment_loss
from trimtab.types import Stream, TokenLinks

CPU = torch.device("cpu")


def stream(lengths, device=CPU):
    """Segments of these lengths, empty ones too, of ids that do not matter."""
    counts = torch.tensor(lengths)
    ends = torch.cat([torch.zeros(1, dtype=torch.int32), counts.cumsum(0).to(torch.int32)])
    segments = torch.repeat_interleave(torch.arange(len(lengths)), counts)
    positions = torch.cat([torch.arange(length) for length in lengths])
    return Stream(torch.zeros_like(segments), positions, segments, ends, max(lengths)).to(device)


def linked(targets, sources):
    """Each target token of a segment with sources linked to one or two of them, and a link that only fills up."""
    of, to, weights = [], [], []
    generator = torch.Generator().manual_seed(3)
    for slot, segment in enumerate(targets.segments.tolist()):
        low, high = sources.cu_seqlens[segment : segment + 2].tolist()
        for _ in range(min(2, high - low)):
            of.append(slot)
            to.append(int(torch.randint(low, high, (1,), generator=generator)))
            weights.append(1 / min(2, high - low))
    return TokenLinks(torch.tensor([*of, 0]), torch.tensor([*to, 0]), torch.tensor([*weights, 0.0]))


def found(of, targets, sources, *, size=8, device=CPU, half=False, dtype=torch.float32):
    """The loss and the gradients of queries and keys, which are views of wider maps."""
    generator = torch.Generator().manual_seed(1)
    wide = [
        torch.randn(len(each.ids), size + 3, generator=generator).to(device, dtype).requires_grad_()
        for each in (targets, sources)
    ]
    links = TokenLinks(*(each.to(device) for each in linked(targets, sources)))
    targets, sources = targets.to(device), sources.to(device)
    with torch.autocast(device.type, enabled=half):
        queries, keys = (each[:, 1 : size + 1] for each in wide)
        loss = of(queries, keys, links, target=targets, source=sources)
        loss.backward()
    return [each.detach().cpu() for each in (loss, *(one.grad for one in wide))]


@pytest.mark.quick("100")
@pytest.mark.parametrize("at_once", [1, 4, 100])
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_it_is_the_cross_entropy_of_the_attention_written_out(at_once, lengths):
    targets, sources = stream([a for a, _ in lengths] + [2]), stream([b for _, b in lengths] + [3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guided_alignment, "ROWS_AT_ONCE", at_once)
        fast = found(alignment_loss, targets, sources)
    for one, other in zip(fast, found(plain_alignment_loss, targets, sources), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_half_precision_of_the_model_does_not_reach_it():
    pair = stream([3, 4]), stream([5, 2])
    for half, whole in zip(
        found(alignment_loss, *pair, half=True), found(alignment_loss, *pair), strict=True
    ):
        assert torch.equal(half, whole)


def test_a_target_without_sources_in_its_segment_has_no_effect():
    _, of_queries, of_keys = found(alignment_loss, stream([2, 1, 2]), stream([3, 0, 1]))
    assert of_queries[2].abs().sum() == 0
    assert of_queries.isfinite().all()
    assert of_keys.isfinite().all()


def test_scores_are_made_of_the_segments_at_hand_and_not_of_the_pack(monkeypatch):
    made = []
    whole = guided_alignment._scores

    def counted(*args, **words):
        made.append(whole(*args, **words))
        return made[-1]

    monkeypatch.setattr(guided_alignment, "_scores", counted)
    lengths = [20] * 100
    found(alignment_loss, stream(lengths), stream(lengths))
    passes = 3
    assert sum(each.numel() for each in made) <= passes * 0.1 * 2000 * 2000
