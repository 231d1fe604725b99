from dataclasses import replace

import torch

from tests.step.toy import packs
from trimtab.flow import StepReport
from trimtab.step.numbers import Measures, StepNumbers


def test_the_divisor_is_that_of_the_whole_window_and_at_least_one():
    made = packs(5, 7)
    numbers = StepNumbers.of(made, learning_rate=1e-3, masked=True)
    assert numbers.targets == 12
    assert numbers.learning_rate.item() == 1e-3
    assert bool(numbers.masked)
    nothing = [replace(pack, num_targets=0) for pack in made]
    assert StepNumbers.of(nothing, learning_rate=1.0, masked=False).targets == 1


def test_other_numbers_come_into_the_same_memory():
    numbers = StepNumbers.of(packs(5), learning_rate=1e-3, masked=False)
    places = [each.data_ptr() for each in (numbers.targets, numbers.learning_rate, numbers.masked)]
    numbers.fill(packs(6, 7), learning_rate=0.1 + 0.2, masked=True)
    assert [each.data_ptr() for each in (numbers.targets, numbers.learning_rate, numbers.masked)] == places
    assert (numbers.targets.item(), numbers.learning_rate.item(), numbers.masked.item()) == (
        13,
        0.1 + 0.2,
        True,
    )


def test_what_a_step_measures_are_fields_of_its_report():
    assert set(Measures._fields) <= set(StepReport.__slots__)
    assert Measures(*map(torch.tensor, (1.0, 1.0, 1.0, 0.0, 0)), None).truncated is None
