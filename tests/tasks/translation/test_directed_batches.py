"""How many micro-batches of which size each direction has in a step."""

import math
from itertools import islice
from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.model.modular.test_modular import NAMES, modular, packing_of, window_of
from tests.modular_run import modular_sources
from trimtab.build import build
from trimtab.config.modular_model import Layers, Route
from trimtab.tasks.translation.directed_batches import choose_micro_batch, depth_of, divided, plan_directed


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


def test_planned_packs_hold_what_directions_of_other_lengths_have(tmp_path: Path) -> None:
    recipe, datasets = modular_sources(
        tmp_path, **{"step.tokens_per_step": 512, "step.tokens_per_micro_batch": 512}
    )
    packing = plan_directed(recipe, datasets, packed=True, device=torch.device("cpu"))
    slots = packing.resolved["source_tokens_per_micro_batch"]
    assert slots == len(packing.at_once) * packing.packing.shape.source_slots
    step = recipe.step.model_copy(update={"source_tokens_per_micro_batch": slots})
    again = plan_directed(
        recipe.model_copy(update={"step": step}), datasets, packed=True, device=torch.device("cpu")
    )
    assert again.packing.shape == packing.packing.shape
    assert again.num_batches == packing.num_batches == 1
    parts = build(recipe, datasets)
    steps = list(islice(parts.stream.batches(0), 20))
    cuts = [packing.cut_at(window, number) for number, (window, _) in enumerate(steps)]
    assert sum(len(cut) == 1 for cut in cuts) >= 17
    for (window, _), cut in zip(steps, cuts, strict=True):
        assert sum(batch.num_targets for batch in cut) == window.num_targets
    two = plan_directed(recipe, datasets, packed=True, device=torch.device("cpu"), ranks=2)
    assert two.num_batches == 2


def test_parts_are_divided_in_their_order_and_none_is_empty() -> None:
    assert divided([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4, 5]]
    assert divided([1, 2], 5) == [[1], [2]]


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=30),
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=3),
)
def test_ranks_take_each_example_of_a_step_once(
    rows: list[tuple[int, int, int]], shares: list[list[float]]
) -> None:
    shares = [*shares, [1.0] * 4]
    placement = [dict(zip(NAMES, each, strict=True)) for each in shares]
    model, window = modular(), window_of(rows)
    packing = packing_of(model, 64)
    seen: list[tuple[str, int]] = []
    for rank in range(len(placement)):
        for batch in packing.placed(placement, rank).cut_at(window, 0):
            ((name, pack),) = batch.parts
            assert placement[rank][name] > 0
            seen.append((name, pack.num_targets))
    for number, name in enumerate(NAMES):
        own = sum(row[1] for row in rows if row[2] == number)
        assert sum(count for each, count in seen if each == name) == own


def test_a_rank_has_factors_of_the_whole_step() -> None:
    model = modular(mean_over="component")
    window = window_of([(2, 3, NAMES.index("en-de")), (2, 5, NAMES.index("pt-en"))])
    packing = packing_of(model, 8)
    placement = [{"en-de": 1.0, "de-en": 1.0}, {"en-pt": 1.0, "pt-en": 1.0}]
    for rank in range(2):
        (own,) = packing.placed(placement, rank).cut_at(window, 0)
        whole = packing.cut_at(window, 0)[0]
        assert own.factors is not None
        assert whole.factors is not None
        assert own.factors.tolist() == whole.factors.tolist()
