import pytest

from tests.export.text_models import network, vocabulary
from trimtab.export.hf.llama_shape import class_name, generation, shape, tensor_shapes
from trimtab.export.hf.llama_weights import named_weights


@pytest.mark.parametrize(
    "changes", [{}, {"kv_heads": 1, "qk_norm": True}, {"bias": True, "tie_embeddings": False}], ids=str
)
def test_the_tensors_that_are_expected_are_those_that_an_export_writes(changes):
    model = network(70, **changes)
    written = {name: list(tensor.shape) for name, tensor in named_weights(model)}
    assert tensor_shapes(model.config, num_ids=70) == written


def test_settings_follow_from_the_recipe_and_the_vocabulary():
    config, tokenizer = network(70, kv_heads=2, activation="geglu").config, vocabulary("bytes")
    found = shape(config, tokenizer, window=33)
    assert (found["hidden_act"], found["num_key_value_heads"], found["max_position_embeddings"]) == (
        "gelu",
        2,
        33,
    )
    assert (found["pad_token_id"], found["bos_token_id"], found["eos_token_id"]) == (0, 2, 3)
    assert not [key for key in generation(tokenizer) if key.startswith("max")], (
        "a caller's would clash with it"
    )
    assert class_name(config) == "LlamaForCausalLM"
