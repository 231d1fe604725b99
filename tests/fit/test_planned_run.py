from tests.fit.planning import text_recipe
from trimtab.device import COMPILE_PAYS_FROM_MINUTES, COMPILE_PAYS_FROM_TARGETS
from trimtab.device import wants_compile as as_the_run_chooses
from trimtab.fit import planned_run
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
