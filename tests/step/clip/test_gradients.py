import pytest
import torch
from torch import nn

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.step.clip.gradients import gradients_of, listed_tensors, local_parts, norm_over_ranks


def with_gradients():
    model = nn.Linear(2, 3)
    model(torch.ones(1, 2)).sum().backward()
    return model


def test_parameters_stand_for_their_gradients_and_gradients_for_themselves():
    model = with_gradients()
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    found = gradients_of([*model.parameters(), frozen], part="clip")
    assert [each is parameter.grad for each, parameter in zip(found, model.parameters(), strict=True)] == [
        True
    ] * 2
    assert [one is other for one, other in zip(gradients_of(found, part="clip"), found, strict=True)] == [
        True
    ] * 2
    assert gradients_of(nn.Linear(2, 2).parameters(), part="clip") == []


def test_one_tensor_is_one_and_not_its_rows():
    weight = with_gradients().weight
    assert [each.shape for each in gradients_of(weight, part="clip")] == [(3, 2)]


WRONG = {
    "is a module": lambda: nn.Linear(2, 2),
    "is empty": lambda: iter([]),
    "item 0 is no tensor": lambda: list(nn.Linear(2, 2).named_parameters()),
    "item 1 is no tensor": lambda: [torch.ones(2), None],
    "holds parameters and gradients together": lambda: [nn.Parameter(torch.ones(2)), torch.ones(2)],
    "holds no tensors": lambda: {"weight": torch.ones(2)},
}


@for_each("said", WRONG)
def test_what_is_neither_is_refused_by_name(said):
    with pytest.raises(
        InputError, match=rf"clip: parameters: {said}\n  got .*\n  allowed parameters, .*\n  fix "
    ):
        gradients_of(WRONG[said](), part="clip")


def test_whole_tensors_are_their_own_parts():
    tensors = listed_tensors(iter([torch.ones(2), torch.full((2,), 2.0)]), part="clip")
    assert local_parts(tensors) == tensors
    assert float(norm_over_ranks(tensors)) == pytest.approx(10**0.5)
