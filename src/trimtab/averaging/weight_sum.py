"""Sums of weights in float64, one model in memory beside the sum."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

Weights = Mapping[str, Tensor]


class WeightSum:
    """Weights that are added up; what is no floating-point number stays that of the first."""

    def __init__(self, first: Weights) -> None:
        self.first = first
        self.totals = {name: tensor.double() for name, tensor in first.items() if tensor.is_floating_point()}
        self.count = 1

    def add(self, weights: Weights) -> None:
        """One more summand."""
        for name, total in self.totals.items():
            total += weights[name].double()
        self.count += 1

    def mean(self) -> dict[str, Tensor]:
        """The mean of what was added, in the element types of the first."""
        return self._rounded({name: total / self.count for name, total in self.totals.items()})

    def mean_with(self, weights: Weights) -> dict[str, Tensor]:
        """What the mean would be with these weights too."""
        count = self.count + 1
        return self._rounded(
            {name: (total + weights[name].double()) / count for name, total in self.totals.items()}
        )

    def _rounded(self, means: Weights) -> dict[str, Tensor]:
        kept = {name: tensor for name, tensor in self.first.items() if name not in means}
        return kept | {name: mean.to(self.first[name].dtype) for name, mean in means.items()}


def mean_of(models: Sequence[Callable[[], Weights]]) -> dict[str, Tensor]:
    """The mean of the models' tensors, each read when it is needed."""
    total = WeightSum(models[0]())
    for load in models[1:]:
        total.add(load())
    return total.mean()


def not_finite(weights: Weights) -> list[str]:
    """Names of the tensors that hold infinities or NaN."""
    return [name for name, tensor in weights.items() if not tensor.isfinite().all()]
