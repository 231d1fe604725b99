from typing import get_args

import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.load import parse_recipe
from trimtab.config.schedules import Schedule
from trimtab.config.step import StepConfig
from trimtab.errors import InputError

KINDS = [get_args(each.model_fields["kind"].annotation)[0] for each in get_args(get_args(Schedule)[0])]


def test_lengths_are_read_with_their_unit():
    step = StepConfig.model_validate({"schedule": {"kind": "inverse_sqrt", "warmup": "2k steps"}})
    assert step.schedule.warmup.steps == 2000


@pytest.mark.parametrize(
    "schedule", [{"kind": "cosine", "floor": 1}, {"kind": "noam", "warmup": "1 epochs"}, {"kind": "step"}]
)
def test_values_out_of_range_are_refused(schedule):
    with pytest.raises(ValidationError):
        StepConfig.model_validate({"schedule": schedule})


def refused(kind, warmup):
    recipe = "data: {train: [{source: a, target: b}]}\nmodel: {preset: tiny}\nlength: 10 steps\n"
    with pytest.raises(InputError) as raised:
        parse_recipe(f"{recipe}step: {{schedule: {{kind: {kind}, warmup: {warmup}}}}}\n")
    (problem,) = raised.value.problems
    return problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warmup", ["0 steps", "0", "0.0 epochs", "0k tokens", "'0'"])
def test_no_warmup_is_refused_with_what_to_write_instead(kind, warmup):
    problem = refused(kind, warmup)
    assert problem.what == "step.schedule.warmup: no warmup"
    assert problem.got
    assert "more than zero" in problem.allowed
    advice = {"constant": "leave it out", "noam": "the peak follows"}
    assert advice.get(kind, "'1 steps'") in problem.fix


@for_each("warmup", ["-1 steps", "05", "false", "steps"])
def test_other_warmups_that_are_wrong_are_told_as_lengths(warmup):
    assert refused("cosine", warmup).what == "step.schedule.warmup: wrong value"
