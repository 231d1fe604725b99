import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from trimtab.watch.activations import (
    Activations,
    activations,
    dead_units,
    distinctness,
    out_of_bounds,
    root_mean_square,
)


class Layer(nn.Module):
    """A residual layer that multiplies its input."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        return x * self.factor + 0 * self.down(self.up(x).relu())


def read(*factors, tokens=600, x=None, change=None):
    torch.manual_seed(0)
    layers = {f"layers.{i}": Layer(factor) for i, factor in enumerate(factors)}
    if change:
        change(layers)
    x = torch.randn(800, 8) if x is None else x
    maps = {f"{name}.feed_forward": layer.down for name, layer in layers.items()}
    with activations(layers, maps, tokens=dict.fromkeys((*layers, *maps), tokens)) as found:
        for layer in layers.values():
            x = layer(x)
    assert all(not each._forward_hooks and not each.down._forward_pre_hooks for each in layers.values())
    return found


def codes(found):
    return [each.code for each in out_of_bounds(found)]


def test_the_root_mean_square_of_each_layer_is_that_of_its_real_tokens():
    x = torch.randn(800, 8)
    x[600:] = math.nan  # padding
    found = read(2.0, 3.0, x=x)
    size = float(x[:600].pow(2).mean().sqrt())
    assert found.entered == pytest.approx({"layers.0": size, "layers.1": 2 * size}, rel=1e-5)
    assert found.left == pytest.approx({"layers.0": 2 * size, "layers.1": 6 * size}, rel=1e-5)
    assert found.last == found.left["layers.1"]
    assert codes(found) == []


def test_before_anything_is_read_there_is_nothing_to_tell():
    assert codes(Activations()) == []
    assert math.isnan(Activations().last)


@given(st.integers(1, 40), st.integers(1, 20), st.floats(1e-3, 1e3))
def test_the_root_mean_square_is_the_norm_over_the_root_of_the_count(tokens, width, size):
    x = torch.randn(tokens, width) * size
    assert float(root_mean_square(x)) == pytest.approx(float(x.norm()) / math.sqrt(x.numel()), rel=1e-4)


def test_a_path_that_grows_tenfold_a_layer_is_found_with_the_layer_where_it_is_too_much():
    (finding,) = out_of_bounds(read(10.0, 10.5, 1.1))
    assert (finding.code, finding.severity) == ("M903", "warning")
    assert finding.message.startswith(
        "layers.1 raises the root mean square of the residual path from 9.9 to 104"
    )
    assert "(bounds: above 100, by more than 8 times)" in finding.message


def test_a_first_layer_that_raises_a_small_path_and_a_slow_growth_are_not_found():
    assert codes(read(12.0, 1.5, 1.2)) == []
    assert codes(read(7.0, 7.0, 7.0)) == []


def test_a_path_that_has_become_large_step_by_step_is_found():
    (finding,) = out_of_bounds(read(*[6.0] * 4))
    assert "after layers.3 (bound 1000)" in finding.message


def test_a_path_that_is_not_finite_is_an_error_from_its_first_layer_on():
    (finding,) = out_of_bounds(read(2.0, math.inf, 3.0))
    assert (finding.code, finding.severity) == ("M903", "error")
    assert "not finite from layers.1 on" in finding.message


def die(layers):
    with torch.no_grad():
        layers["layers.1"].up.weight[1:] = 0
        layers["layers.1"].up.bias[1:] = -1


def test_a_layer_most_of_whose_units_no_token_wakes_is_found_by_tokens_enough():
    (finding,) = out_of_bounds(read(1.0, 1.0, change=die))
    assert finding.code == "M904"
    assert "layers.1.feed_forward up to 96.9% were 0 for each of 600 tokens" in finding.message
    assert codes(read(1.0, 1.0, change=die, tokens=500)) == []


@pytest.mark.parametrize("name", ["relu", "gelu", "silu"])
def test_units_on_the_flat_side_of_any_activation_are_dead(name):
    before = torch.randn(500, 10)
    before[:, :4] = -40.0
    assert float(dead_units(getattr(torch.nn.functional, name)(before))) == pytest.approx(0.4)


def test_dead_units_are_counted_one_by_one():
    hidden = torch.randn(64, 30).relu() * (torch.rand(30) < 0.5)
    expected = sum(all(value == 0 for value in column) for column in hidden.T.tolist()) / 30
    assert float(dead_units(hidden)) == pytest.approx(expected)


def test_vectors_that_are_all_the_same_are_not_distinct_and_opposite_ones_are():
    same, other = torch.randn(1, 8).expand(5, 8), torch.randn(4, 8)
    assert float(distinctness(same)) == pytest.approx(0.0, abs=1e-6)
    assert float(distinctness(torch.cat([other, -other]))) == pytest.approx(1.0, abs=1e-6)
    mean = other.mean(0)
    wanted = float(sum((each - mean).square().sum() for each in other) / other.square().sum()) ** 0.5
    assert float(distinctness(other)) == pytest.approx(wanted, rel=1e-5)
