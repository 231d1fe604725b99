"""How many micro-batches of which size each direction has in a step."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.model.modular.test_modular import NAMES, modular, packing_of, window_of
from trimtab.config.modular_model import Layers, Route
from trimtab.tasks.translation.directed_batches import choose_micro_batch, depth_of


@given(st.lists(st.floats(1, 20000), min_size=1, max_size=10), st.integers(8, 512))
def test_the_size_of_a_micro_batch_is_within_its_limits_and_wastes_less_than_the_largest(
    needs: list[float], least: int
) -> None:
    size = choose_micro_batch(needs, least=least, most=8192)
    assert least <= size <= 8192

    def slots(each: int) -> int:
        return sum(math.ceil(need / each) for need in needs) * (each + 512)

    assert slots(size) <= slots(8192)


def test_equal_directions_get_packs_that_are_nearly_full() -> None:
    size = choose_micro_batch([4300.0] * 8, least=128, most=8192)
    assert 8 * 4300 / (8 * math.ceil(4300 / size) * size) > 0.95


def test_factors_are_targets_of_the_step_over_those_of_the_component() -> None:
    model = modular(mean_over="component")
    window = window_of([(2, 3, NAMES.index("en-de")), (2, 5, NAMES.index("pt-en"))])
    batch = packing_of(model, 8).cut_at(window, 0)[0]
    assert batch.factors is not None
    factors = dict(zip(model.components, batch.factors.tolist(), strict=True))
    assert factors["encoder.shared"] == 1
    assert math.isclose(factors["decoder.de"], 8 / 3, rel_tol=1e-6)
    assert math.isclose(factors["decoder.en"], 8 / 5, rel_tol=1e-6)


def test_the_depth_of_a_route_is_that_of_both_stacks() -> None:
    assert depth_of(Route("a", "b", (Layers("x", 0, 3),), (Layers("y", 1, 2), Layers("z", 0, 2)))) == 6
