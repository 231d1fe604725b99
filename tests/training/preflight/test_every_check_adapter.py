import pytest
import torch

from trimtab.build import build
from trimtab.config.adapter import LoraAdapter
from trimtab.model.lora import adapted_maps, begin_adapter
from trimtab.training.preflight.every_check import adapter_begins_as_base


@pytest.fixture(params=[{}, {"dora": True}], ids=["lora", "dora"])
def parts_adapted(request, opened):
    recipe, sources = opened
    return build(recipe.model_copy(update={"adapter": LoraAdapter(rank=4, **request.param)}), sources)


def test_a_new_adapter_changes_nothing(parts_adapted):
    assert [*adapter_begins_as_base(parts_adapted)] == []


def test_lengths_of_other_weights_are_found(parts_adapted):
    """A base that is loaded behind its adapter."""
    with torch.no_grad():
        for each in adapted_maps(parts_adapted.model):
            each.linear.weight.mul_(2)
    found = [each.code for each in adapter_begins_as_base(parts_adapted)]
    assert found == (["M210"] if parts_adapted.recipe.adapter.dora else [])
    begin_adapter(parts_adapted.model)
    assert [*adapter_begins_as_base(parts_adapted)] == []


def test_an_adapter_that_has_learned_is_passed_over(parts_adapted):
    with torch.no_grad():
        for name in parts_adapted.model.begins_zero:
            parts_adapted.model.get_parameter(name).add_(1)
    assert [*adapter_begins_as_base(parts_adapted)] == []


def test_a_model_without_one_is_passed_over(parts):
    assert [*adapter_begins_as_base(parts)] == []
