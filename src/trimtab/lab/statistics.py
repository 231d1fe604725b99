"""Paired comparisons of a few seeds: mean difference, its interval, p-values, and their correction over a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

LEVEL = 0.05
"""Of tests, and one minus the confidence of intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The differences of two arms, seed by seed."""

    mean: float
    deviation: float
    """Standard deviation of the differences, with n - 1."""
    low: float
    high: float
    """95% confidence interval of the mean by Student's t."""
    p: float
    """Two-sided, of the hypothesis that the mean is zero."""
    count: int


def paired(differences: Sequence[float]) -> Paired:
    """The paired t-test (Student 1908). Differences that are all the same have an interval without width; their p is 0,
    or 1 where they are zero. Raises ValueError for fewer than two, and for what is not finite."""
    count = len(differences)
    if count < 2 or not all(math.isfinite(each) for each in differences):
        raise ValueError(f"got {list(differences)}; allowed are at least two finite differences")
    mean = math.fsum(differences) / count
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in differences) / (count - 1))
    error = deviation / math.sqrt(count)
    if error <= 1e-12 * max(abs(mean), 1e-300):
        return Paired(mean=mean, deviation=0.0, low=mean, high=mean, p=float(mean == 0), count=count)
    freedom = count - 1
    half = t_quantile(1 - LEVEL / 2, freedom) * error
    p = two_sided_p(mean / error, freedom)
    return Paired(mean=mean, deviation=deviation, low=mean - half, high=mean + half, p=p, count=count)


def holm(values: Sequence[float]) -> list[float]:
    """P-values of one family, adjusted so that the chance of any false positive stays below the level (Holm 1979)."""
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda each: values[each])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted


def two_sided_p(t: float, freedom: int) -> float:
    """The chance of a |t| as large or larger where there is no difference."""
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@cache
def t_quantile(share: float, freedom: int) -> float:
    """The t that Student's distribution stays below in this share of cases, for shares above one half."""
    low, high = 0.0, 1.0
    while 1 - two_sided_p(high, freedom) / 2 < share:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        below = 1 - two_sided_p(middle, freedom) / 2 < share
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz's method; DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, that of the complement is fast
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _apart(1 + term * d), _apart(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction / a


def _apart(value: float) -> float:
    """Not so near zero that it could not be divided by."""
    return value if abs(value) > 1e-300 else 1e-300
