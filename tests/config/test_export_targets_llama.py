import pytest

from tests.for_each import for_each
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.export_targets import llama_obstacles, obstacles


def model(**changes) -> DecoderModel:
    return DecoderModel(preset="tiny", **changes)


@for_each(
    "changes",
    [
        {},
        {"kv_heads": 1, "qk_norm": True},
        {"activation": "geglu", "bias": True},
        {"rope_theta": 5e5, "tie_embeddings": False, "dropout": 0.1},
    ],
)
def test_what_the_classes_compute_meets_no_obstacle(changes):
    assert list(llama_obstacles(model(**changes))) == []
    assert obstacles("hf", model=model(**changes), transforms=()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "learned"},
        {"positions": "none"},
        {"norm": "layer"},
        {"norm_position": "after"},
        {"prefix": "bidirectional"},
        {"activation": "relu"},
    ],
    ids=str,
)
def test_each_key_that_stands_in_the_way_is_named_with_what_could_be_exported(changes):
    ((key, value),) = changes.items()
    (problem,) = llama_obstacles(model(**changes))
    assert problem.what.startswith(f"model.{key}: neither")
    assert problem.got == value
    assert problem.allowed
    assert f"model.{key}" in problem.fix


def test_norms_of_queries_have_no_biases_beside_them():
    (problem,) = llama_obstacles(model(qk_norm=True, bias=True))
    assert problem.what.startswith("model.bias")
