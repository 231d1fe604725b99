import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.averaging.weight_sum import WeightSum, mean_of, not_finite


def models_of(count, seed):
    draw = torch.Generator().manual_seed(seed)
    return [{"a": torch.randn(3, 4, generator=draw), "ids": torch.arange(3)} for _ in range(count)]


@given(st.integers(2, 6), st.integers(0, 2**31))
def test_the_mean_is_that_of_every_element_as_in_float64(count, seed):
    models = models_of(count, seed)
    mean = mean_of([lambda model=model: model for model in models])
    exact = torch.stack([model["a"].double() for model in models]).mean(0)
    assert torch.equal(mean["a"], exact.float())
    assert torch.equal(mean["ids"], torch.arange(3))


@given(st.integers(0, 2**31))
def test_looking_at_one_more_adds_nothing(seed):
    models = models_of(3, seed)
    total = WeightSum(models[0])
    total.add(models[1])
    before = total.mean()
    with_it = total.mean_with(models[2])
    assert torch.equal(total.mean()["a"], before["a"])
    total.add(models[2])
    assert torch.equal(total.mean()["a"], with_it["a"])
    assert torch.equal(mean_of([lambda model=model: model for model in models])["a"], with_it["a"])


def test_tensors_that_are_not_finite_are_named():
    weights = {"a": torch.tensor([1.0, float("inf")]), "b": torch.ones(2), "c": torch.tensor(float("nan"))}
    assert not_finite(weights) == ["a", "c"]
