"""Shaw's positions against the equations of the paper, pair by pair."""

import math

import pytest
import torch

from tests.streams import stream_of
from trimtab.model.attention import attend
from trimtab.model.positions.shaw import (
    FARTHEST,
    DistanceVectors,
    Relative,
    ShawPositions,
    attend_biased,
    scores_by_distance,
)
from trimtab.model.sequence_layout import sequence_layout


def plain(queries, keys, values, relative, seen):
    """Equations 3 and 4 for one head, with a vector for each pair of tokens."""
    size = queries.shape[-1]
    found = []
    for i in range(len(queries)):
        own = [relative.keys[relative.rows[i, j]] for j in range(len(keys))]
        scores = torch.stack([queries[i] @ (keys[j] + own[j]) / math.sqrt(size) for j in range(len(keys))])
        weights = scores.masked_fill(~seen[i], -torch.inf).softmax(0)
        found.append(
            sum(weights[j] * (values[j] + relative.values[relative.rows[i, j]]) for j in range(len(keys)))
        )
    return torch.stack(found)


def vectors(*, bidirectional):
    return DistanceVectors(size=8, bidirectional=bidirectional).double()


def test_distances_are_clipped_and_an_encoder_tells_directions():
    both, causal = (ShawPositions(bidirectional=way) for way in (True, False))
    row = torch.arange(40)
    found = both.distances(row, row)
    wanted = [[max(-FARTHEST, min(FARTHEST, j - i)) + FARTHEST for j in range(40)] for i in range(40)]
    assert found.tolist() == wanted
    assert int(found.max()) == len(DistanceVectors(size=4, bidirectional=True).keys.weight) - 1
    past = torch.ones(40, 40, dtype=torch.bool).tril()
    assert torch.equal(causal.distances(row, row)[past], found[past])
    assert (
        int(causal.distances(row, row).max())
        == len(causal_table := vectors(bidirectional=False).keys.weight) - 1
    )
    assert len(causal_table) == FARTHEST + 1


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradient_are_those_of_the_equations(causal):
    generator = torch.Generator().manual_seed(0)
    queries, keys, values, weight = (
        torch.randn(22, 2, 8, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(4)
    )
    stream = stream_of([[*range(4, 24)], [8, 3]])  # one segment is longer than the clipping distance
    positions, own = ShawPositions(bidirectional=not causal), vectors(bidirectional=not causal)
    relative = own.at(positions.of_stream(stream).distances)
    layout = sequence_layout(stream, padded=True)
    inputs = queries, keys, values, *own.parameters()
    found = attend(queries, keys, values, of=layout, to=layout, causal=causal, bias=relative)
    gradients = torch.autograd.grad((found * weight).sum(), inputs)
    rows = []
    for first, last in ((0, 20), (20, 22)):
        length = last - first
        seen = torch.ones(length, length, dtype=torch.bool)
        cut = relative._replace(rows=relative.rows[:length, :length])
        heads = [
            plain(
                *(each[first:last, head] for each in (queries, keys, values)),
                cut,
                seen.tril() if causal else seen,
            )
            for head in range(2)
        ]
        rows.append(torch.stack(heads, 1))
    wanted = torch.cat(rows)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(gradients, torch.autograd.grad((wanted * weight).sum(), inputs))


def test_with_vectors_of_zero_it_is_plain_attention():
    queries, keys, values = (torch.randn(2, 3, 5, 8) for _ in range(3))
    row = torch.arange(5)
    zeros = torch.zeros(FARTHEST + 1, 8)
    relative = Relative(zeros, zeros, ShawPositions(bidirectional=False).distances(row, row))
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    found = attend_biased(queries, keys, values, seen=seen, bias=relative)
    torch.testing.assert_close(found, attend_biased(queries, keys, values, seen=seen, bias=None))
    assert not scores_by_distance(queries, relative).any()


def test_flat_kernels_are_refused():
    stream = stream_of([[4, 5, 3]])
    layout = sequence_layout(stream, padded=False)
    positions = ShawPositions(bidirectional=True)
    relative = DistanceVectors(size=8, bidirectional=True).at(positions.of_stream(stream).distances)
    x = torch.randn(3, 2, 8)
    with pytest.raises(ValueError, match="padded rows"):
        attend(x, x, x, of=layout, to=layout, causal=False, bias=relative)
