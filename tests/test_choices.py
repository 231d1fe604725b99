import pytest
import torch

from tests.small_run import small_parts
from trimtab.build import build
from trimtab.choices import shape_for
from trimtab.config.load import parse_recipe
from trimtab.config.render import render_recipe

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Built from the small recipe, not trained."""
    return small_parts(tmp_path_factory.mktemp("choices"))


def test_what_was_left_to_be_chosen_stands_in_the_settled_recipe_and_is_chosen_again(parts):
    step = parts.recipe.step
    assert (step.precision, step.compile) == ("fp32", "off")
    assert step.tokens_per_micro_batch == 128
    assert step.source_tokens_per_micro_batch == parts.batching.shape.source_slots
    written = parse_recipe(render_recipe(parts.recipe)).recipe
    again = build(written, parts.datasets, device=CPU)
    assert again.recipe == parts.recipe
    assert again.batching.shape == parts.batching.shape


def test_a_given_source_budget_is_kept_but_never_below_the_longest_sentence(parts):
    for given, slots in ((640, 640), (1, parts.batching.shape.source_max_seqlen)):
        step = parts.recipe.step.model_copy(update={"source_tokens_per_micro_batch": given})
        asked = parts.recipe.model_copy(update={"step": step})
        assert build(asked, parts.datasets, device=CPU).batching.shape.source_slots == slots


@pytest.mark.parametrize("packed", [True, False])
def test_slots_that_are_only_context_count_in_packs(parts, packed):
    recipe, lengths = parts.recipe, parts.datasets.lengths
    plain = shape_for(recipe, lengths, packed=packed)
    wider = shape_for(recipe, lengths, packed=packed, slots_per_target=2.0)
    assert wider.num_packs >= 2 * plain.num_packs - 1


@pytest.mark.parametrize(
    ("max_tokens", "deterministic", "first"),
    [(512, False, False), (520, False, True), (520, True, False)],
)
def test_packs_begin_with_full_documents_only_where_attention_may_take_them_as_rows(
    parts, max_tokens, deterministic, first
):
    """Otherwise steps that differ in nothing else would be recorded one by one."""
    recipe = parts.recipe
    step = recipe.step.model_copy(
        update={"deterministic": deterministic, "tokens_per_step": 2048, "tokens_per_micro_batch": 2048}
    )
    data = recipe.data.model_copy(update={"max_tokens": max_tokens})
    asked = recipe.model_copy(update={"step": step, "data": data})
    assert shape_for(asked, parts.datasets.lengths, packed=True).full_first is first
