import torch

from tests.fake_ranks import Twins, Unasked
from tests.step.toy import packs
from trimtab.step.numbers import Counts, Measures, StepNumbers
from trimtab.types import StepReport

CPU = torch.device("cpu")


def test_what_is_in_a_step_is_what_is_in_its_batches():
    assert Counts.of(packs(5, 7)) == Counts(num_targets=12, num_tokens=24)
    assert Counts.of([]) == Counts(0, 0)


def test_of_one_rank_nothing_is_asked_and_of_more_the_sum():
    assert Counts.of(packs(5), Unasked()) == Counts(5, 10)
    assert Counts.of(packs(5), Twins()) == Counts(10, 20)


def test_the_divisor_is_that_of_the_whole_step_and_at_least_one():
    numbers = StepNumbers.of(Counts(12, 24), learning_rate=1e-3, masked=True, device=CPU)
    assert numbers.targets == 12
    assert numbers.learning_rate.item() == 1e-3
    assert bool(numbers.masked)
    assert StepNumbers.of(Counts(0, 24), learning_rate=1.0, masked=False, device=CPU).targets == 1


def test_other_numbers_come_into_the_same_memory():
    numbers = StepNumbers.of(Counts(5, 10), learning_rate=1e-3, masked=False, device=CPU)
    places = [each.data_ptr() for each in (numbers.targets, numbers.learning_rate, numbers.masked)]
    numbers.fill(Counts(13, 26), learning_rate=0.1 + 0.2, masked=True)
    assert [each.data_ptr() for each in (numbers.targets, numbers.learning_rate, numbers.masked)] == places
    assert (numbers.targets.item(), numbers.learning_rate.item()) == (13, 0.1 + 0.2)
    assert numbers.masked.item() is True


def test_what_a_step_measures_are_fields_of_its_report():
    assert set(Measures._fields) <= set(StepReport.__slots__)
    assert Measures(*map(torch.tensor, (1.0, 1.0, 1.0, 0.0, 0)), None).truncated is None
