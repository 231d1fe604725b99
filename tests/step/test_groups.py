from tests.step.toy import Toy
from trimtab.step.groups import parameter_groups


def test_every_parameter_is_in_one_group_and_only_matrices_of_linear_maps_are_decayed():
    model = Toy()
    decayed, plain = parameter_groups(model)
    assert set(decayed) == {"linear.weight"}
    assert set(plain) == {"embedding.weight", "linear.bias"}


def test_frozen_parameters_are_in_none_and_tied_ones_in_one():
    model = Toy()
    model.linear.weight = model.embedding.weight
    model.linear.bias.requires_grad_(False)
    decayed, plain = parameter_groups(model)
    assert not decayed
    assert list(plain) == ["embedding.weight"]
