import pytest
import torch

from trimtab.model.vision.places import build_places, place_std


@pytest.mark.parametrize("kind", ["learned", "factorised", "sinusoidal"])
def test_every_place_has_a_vector_of_its_own(kind):
    torch.manual_seed(1)
    places = build_places(kind, rows=3, columns=50, dim=16)
    rows, columns = torch.arange(3).repeat_interleave(50), torch.arange(50).repeat(3)
    vectors = places(rows, columns)
    assert vectors.shape == (150, 16)
    assert torch.cdist(vectors, vectors).add(torch.eye(150) * 9).min() > 1e-3


def test_a_copy_in_half_precision_knows_far_columns():
    places = build_places("sinusoidal", rows=1, columns=1000, dim=16)
    columns = torch.arange(900, 904)
    exact = places(torch.zeros_like(columns), columns)
    assert torch.equal(places.to(torch.bfloat16)(torch.zeros_like(columns), columns), exact)


def test_the_sum_of_two_vectors_is_as_large_as_one():
    assert place_std("factorised") ** 2 * 2 == pytest.approx(place_std("learned") ** 2)
