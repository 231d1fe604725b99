from types import SimpleNamespace

import pytest
import torch

from tests.small_run import small_parts
from trimtab.model.text_model import build_model

CPU = torch.device("cpu")


@pytest.mark.parametrize(("max_seqlen", "positions"), [(32, 64), (64, 64), (65, 128)])
def test_vocabularies_and_the_longest_example_size_the_model(tmp_path, max_seqlen, positions):
    recipe = small_parts(tmp_path).recipe
    model, data = (
        recipe.model.model_copy(update={"positions": "learned", "tie_embeddings": "none"}),
        recipe.data,
    )
    recipe = recipe.model_copy(
        update={"model": model, "data": data.model_copy(update={"max_tokens": max_seqlen})}
    )
    sides = SimpleNamespace(
        source=SimpleNamespace(num_ids=70), target=SimpleNamespace(num_ids=90), factors=()
    )
    built = build_model(recipe, sides, device=CPU)
    assert built.num_ids == 90
    shapes = {name: tuple(weight.shape) for name, weight in built.named_parameters()}
    assert shapes["source_positions.weight"][0] == shapes["target_positions.weight"][0] == positions
    assert built.source_embedding.weight.shape[0] >= 70
