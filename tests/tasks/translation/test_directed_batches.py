"""How many micro-batches of which size each direction has in a step."""

import math
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.model.modular.test_modular import NAMES, modular, packing_of, window_of
from tests.modular_run import modular_sources
from trimtab.build import build
from trimtab.config.modular_model import Layers, Route
from trimtab.tasks.translation.directed_batches import depth_of, divided, plan_directed, slots_needed


def test_a_direction_has_slots_for_two_standard_deviations_more_than_its_share() -> None:
    lengths = np.array([10, 10, 10, 10])
    assert slots_needed(0.2, lengths, tokens_per_step=5000) == 1000 + 2 * math.sqrt(100 * 100 * 0.8)
    assert slots_needed(1.0, lengths, tokens_per_step=5000) == 5000
    assert slots_needed(0.0, np.zeros(0), tokens_per_step=5000) == 0


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
    assert slots == sum(packing.shapes[name].source_slots for name in packing.at_once)
    step = recipe.step.model_copy(update={"source_tokens_per_micro_batch": slots})
    again = plan_directed(
        recipe.model_copy(update={"step": step}), datasets, packed=True, device=torch.device("cpu")
    )
    assert again.shapes == packing.shapes
    assert again.num_batches == packing.num_batches == 1
    parts = build(recipe, datasets)
    steps = list(islice(parts.stream.batches(0), 20))
    cuts = [packing.cut_at(window, number) for number, (window, _) in enumerate(steps)]
    assert sum(len(cut) == 1 for cut in cuts) >= 17
    for (window, _), cut in zip(steps, cuts, strict=True):
        assert sum(batch.num_targets for batch in cut) == window.num_targets
    two = plan_directed(recipe, datasets, packed=True, device=torch.device("cpu"), ranks=2)
    assert two.num_batches == 2


@given(st.lists(st.integers(1, 100), min_size=1, max_size=12), st.integers(1, 14))
def test_parts_are_divided_in_their_order_and_none_is_empty(sizes: list[int], count: int) -> None:
    lists = divided(list(range(len(sizes))), sizes, count)
    assert [each for part in lists for each in part] == list(range(len(sizes)))
    assert len(lists) == min(count, len(sizes))
    assert all(lists)


def test_parts_are_divided_by_their_sizes() -> None:
    assert divided("abcd", [30, 10, 10, 10], 2) == [["a"], ["b", "c", "d"]]
    assert divided("abcd", [1, 1, 1, 1], 2) == [["a", "b"], ["c", "d"]]
