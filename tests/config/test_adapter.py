import math

import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from tests.text_run import text_recipe
from trimtab.config.adapter import ALL_LINEAR, LoraAdapter
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


def test_the_scale_is_one_unless_something_else_is_written():
    assert LoraAdapter(rank=64).scale == 1.0
    assert LoraAdapter(rank=64, alpha=16).scale == 0.25
    assert LoraAdapter(rank=64, rslora=True).scale == 16 / math.sqrt(64)
    assert LoraAdapter(rank=64, rslora=True, alpha=64).scale == math.sqrt(64)
    assert LoraAdapter().names == ALL_LINEAR


@for_each("given", [{"targets": []}, {"targets": ["wq"]}, {"dropout": 0.1}, {"rank": 0}])
def test_what_means_nothing_is_refused(given):
    with pytest.raises(ValidationError):
        LoraAdapter(**given)


@pytest.mark.parametrize("targets", [["q_proj", "embed_tokens"], "lm_head"])
def test_a_thin_product_on_embeddings_is_refused_with_its_reason(targets):
    with pytest.raises(ValidationError, match="cannot represent single rows") as caught:
        LoraAdapter(targets=targets)
    assert "adapter.embeddings: train" in str(caught.value.errors())


def test_an_adapter_needs_trained_weights_beside_it(tmp_path):
    with pytest.raises(InputError, match="adapter: an adapter adapts trained weights"):
        load_recipe(text_recipe(tmp_path, adapter={"rank": 4}))
