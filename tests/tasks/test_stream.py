from dataclasses import dataclass
from types import SimpleNamespace

import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.load import parse_recipe
from trimtab.config.task_facts import init_recipe
from trimtab.tasks.stream import CutsSteps, divided, rounded_up

STEP = parse_recipe(init_recipe()).recipe.step


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 16))
def test_a_step_is_divided_evenly_among_ranks_and_no_batch_is_larger_than_allowed(whole, most, ranks):
    step = STEP.model_copy(update={"tokens_per_step": whole, "tokens_per_micro_batch": most})
    num_batches, each = divided(step, ranks=ranks)
    assert num_batches % ranks == 0
    assert num_batches * each >= whole > (num_batches - ranks) * most
    assert each <= most


def test_numbers_are_rounded_up_to_a_multiple():
    assert [rounded_up(number, 8) for number in (0, 1, 8, 9)] == [0, 8, 8, 16]


def test_every_step_is_cut_alike_in_the_shape_of_the_run():
    @dataclass(slots=True)
    class Halves(CutsSteps):
        def cut(self, window):
            return [window[: len(window) // 2], window[len(window) // 2 :]]

    batching = Halves(SimpleNamespace(num_batches=2), lambda step: 4, torch.device("cpu"))
    assert batching.num_batches == len(batching.cut_at("abcd", 0)) == 2
    assert batching.cut_at("abcd", 7) == ["ab", "cd"]
