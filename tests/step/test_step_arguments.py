import pytest
import torch
from torch import nn

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.step.step_arguments import (
    as_list,
    counted,
    divides,
    gradient_wrappers,
    refuse_own_division,
    refuse_wrong_types,
)


def length(batch):
    return len(batch)


class Engine:
    """As an Accelerator or a Fabric: no function, and with a method that is one."""

    gradient_accumulation_steps = 4

    def backward(self, loss):
        raise AssertionError("is not called")


WRONG = {
    "loss_of": (torch.ones(()), length, None, None),
    "num_targets": (length, 17, None, None),
    "model": (length, length, (nn.Linear(1, 1), None), None),
    "backward": (length, length, None, True),
}


@for_each("name", WRONG)
def test_what_is_no_function_or_no_model_is_refused_by_name(name):
    with pytest.raises(InputError, match=rf"accumulate_batches: {name}: "):
        refuse_wrong_types(*WRONG[name])
    refuse_wrong_types(length, length, nn.Linear(1, 1), length)


def test_the_object_in_place_of_its_method_is_refused_with_the_method():
    with pytest.raises(InputError, match=r"its method `\.backward`"):
        refuse_wrong_types(length, length, None, Engine())
    with pytest.raises(InputError, match=r"Engine\(gradient_accumulation_steps=4\)"):
        refuse_own_division(Engine().backward)
    refuse_own_division(length)
    assert "by itself" in str(divides("2"))


def test_one_batch_in_place_of_several_is_seen_when_its_targets_are_counted():
    inputs, labels = as_list((torch.randn(3, 4), torch.tensor([0, 1, 2])))
    assert counted(lambda batch: len(batch[1]), inputs) == 4
    with pytest.raises(InputError, match=r"(?s)num_targets\(batch\): failed.*TypeError.*a single batch"):
        counted(lambda batch: len(batch[1]), labels)


@for_each("count", [-1, 2.5, None, True, "3", torch.ones(2)])
def test_what_is_no_number_of_targets_is_refused(count):
    with pytest.raises(InputError, match=r"num_targets\(batch\): is (too small|no whole number)"):
        counted(lambda batch: count, None)


def test_a_model_that_sums_no_gradients_is_refused_over_ranks():
    for model, said in ((None, "is needed"), (nn.Linear(1, 1), "Linear without")):
        with pytest.raises(InputError, match=said):
            gradient_wrappers(model)
