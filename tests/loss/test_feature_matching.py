import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.loss.feature_matching import feature_distance, projection
from trimtab.types import IGNORE


def slow_twin(hidden, wanted, labels, *, distance):
    total = 0.0
    for one, other, label in zip(hidden.tolist(), wanted.tolist(), labels.tolist(), strict=True):
        if label == IGNORE:
            continue
        if distance == "mse":
            total += sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one)
        else:
            product = sum(a * b for a, b in zip(one, other, strict=True))
            total += 1 - product / math.dist(one, [0] * len(one)) / math.dist(other, [0] * len(other))
    return total


@given(st.integers(1, 9), st.sampled_from(["cosine", "mse"]), st.integers(0, 2**31))
def test_it_is_the_sum_over_the_targets_that_count(targets, distance, seed):
    generator = torch.Generator().manual_seed(seed)
    hidden, wanted = (torch.randn(targets, 6, generator=generator) for _ in range(2))
    labels = torch.where(torch.rand(targets, generator=generator) < 0.3, IGNORE, 5)
    found = feature_distance(hidden, wanted, labels, distance=distance)
    assert float(found) == pytest.approx(slow_twin(hidden, wanted, labels, distance=distance), abs=1e-4)
    cut = targets // 2  # a sum does not depend on how a step is cut
    pieces = [
        feature_distance(hidden[part], wanted[part], labels[part], distance=distance)
        for part in (slice(cut), slice(cut, None))
    ]
    torch.testing.assert_close(found, sum(pieces, torch.zeros(())), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("of", "to"), [(8, 8), (64, 16), (16, 64)])
def test_a_projection_is_orthonormal_and_keeps_lengths_on_average(of, to):
    found = projection(of, to, seed=0)
    assert found.shape == (to, of)
    assert torch.equal(found, projection(of, to, seed=0))
    gram = found @ found.T if to <= of else found.T @ found
    torch.testing.assert_close(gram, torch.eye(min(of, to)) * max(1, of / to), atol=1e-5, rtol=1e-5)
    x = torch.randn(2000, of, generator=torch.Generator().manual_seed(1))
    assert float((x @ found.T).square().sum() / x.square().sum()) == pytest.approx(1.0, abs=0.05)
