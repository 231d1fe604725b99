from pathlib import Path

import pytest

from tests.fit.planning import text_recipe
from trimtab.device import COMPILE_PAYS_FROM_MINUTES, COMPILE_PAYS_FROM_TARGETS
from trimtab.device import wants_compile as as_the_run_chooses
from trimtab.errors import InputError
from trimtab.fit import planned_run
from trimtab.fit.gpus import of_memory
from trimtab.fit.memory_size import GIB
from trimtab.fit.plan import plan_recipe
from trimtab.fit.planned_run import wants_compile


def test_the_choice_to_compile_is_that_of_the_run():
    assert planned_run.COMPILES_FROM_TARGETS == COMPILE_PAYS_FROM_TARGETS
    assert planned_run.COMPILES_FROM_MINUTES == COMPILE_PAYS_FROM_MINUTES
    for length in (
        "10 steps",
        "900 steps",
        "1000 steps",
        "2 minutes",
        "3 minutes",
        "29M tokens",
        "31M tokens",
    ):
        recipe = text_recipe(length=length)
        assert wants_compile(recipe) == as_the_run_chooses(recipe, targets_per_epoch=1.0)


def test_terms_of_the_loss_that_the_planner_does_not_read_are_refused_by_name():
    recipe = text_recipe()

    def planned(**changes):
        loss = type(recipe.loss)(**changes)
        return plan_recipe(recipe.model_copy(update={"loss": loss}), Path(), of_memory(80 * GIB))

    assert planned(z_loss=1e-4, truncate={}).peak == plan_recipe(recipe, Path(), of_memory(80 * GIB)).peak
    for unplanned in (
        {"feature_matching": {"teacher": "runs/big"}},
        {"guided_alignment": {}},
        {"guided_alignment": {"layer": 1}, "feature_matching": {"teacher": "runs/big"}},
    ):
        with pytest.raises(InputError, match="has not been measured") as raised:
            planned(**unplanned)
        (problem,) = raised.value.problems
        assert {*problem.got.split(" and ")} == {*unplanned}
