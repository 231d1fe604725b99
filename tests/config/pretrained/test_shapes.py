import json
import math
from contextlib import suppress

import pytest

from tests.for_each import for_each
from tests.pretrained_folder import SIZES
from trimtab.config.pretrained.place import Place
from trimtab.config.pretrained.shapes import read_shape, shape_of
from trimtab.errors import InputError


def shape(kind="llama", **changes):
    return shape_of({"model_type": kind, **SIZES, **changes}, name="config.json")


def test_the_sizes_are_keys_of_the_model():
    found = shape()
    assert found.window == 128
    assert found.shape["dim"] == 32
    assert (found.shape["heads"], found.shape["kv_heads"], found.shape["head_size"]) == (4, 2, 8)
    assert (found.shape["norm_epsilon"], found.shape["rope_theta"]) == (1e-5, 500.0)
    assert found.shape["tie_embeddings"]


def test_each_family_has_its_own_norms_and_biases():
    own = {kind: shape(kind).shape for kind in ("llama", "mistral", "qwen2", "qwen3")}
    assert [own[kind]["qk_norm"] for kind in own] == [False, False, False, True]
    assert [own[kind]["bias"] for kind in own] == [False, False, "qkv", False]


def test_a_sliding_window_bounds_what_is_read():
    assert shape("mistral", sliding_window=64).window == 64
    assert shape("qwen2", sliding_window=64, use_sliding_window=False).window == 128


def test_another_architecture_names_those_that_load():
    with pytest.raises(InputError, match="does not load into the native decoder") as error:
        shape("gemma3_text", architectures=["Gemma3ForCausalLM"])
    assert error.value.problems[0].got == "Gemma3ForCausalLM"
    assert "MistralForCausalLM" in error.value.problems[0].allowed


@for_each(
    ("key", "value"),
    [
        ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}),
        ("rope_parameters", {"rope_type": "dynamic", "factor": 4.0}),
        ("hidden_act", "gelu"),
        ("mlp_bias", True),
        ("quantization_config", {"bits": 4}),
    ],
)
def test_what_the_decoder_cannot_compute_is_refused_by_name(key, value):
    with pytest.raises(InputError, match="rope_scaling" if key == "rope_parameters" else key):
        shape(**{key: value})


@for_each(
    ("key", "value"),
    [
        ("rope_theta", 0),
        ("rope_parameters", {"rope_theta": 0.0}),
        ("rope_scaling", "linear"),
        ("rope_parameters", [1.0]),
        ("tie_word_embeddings", "false"),
        ("attention_bias", 1),
    ],
)
def test_settings_of_another_type_or_out_of_range_are_refused(key, value):
    changes = {key: value} if key == "rope_theta" else {"rope_theta": None, key: value}
    with pytest.raises(InputError, match="is missing or not valid"):
        shape(**changes)


def test_missing_sizes_are_named():
    with pytest.raises(InputError, match="are missing") as error:
        shape(hidden_size=None, vocab_size=None)
    assert error.value.problems[0].got == "no vocab_size, hidden_size"


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_what_is_no_json_of_settings_is_refused(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=r"config\.json"):
        read_shape(Place(tmp_path))


def test_a_gguf_file_says_the_same(tmp_path):
    gguf_file = pytest.importorskip("tests.gguf_file", reason="needs gguf").gguf_file
    place = Place(gguf_file(tmp_path / "small.gguf"))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", **SIZES}))
    assert read_shape(place) == read_shape(Place(tmp_path))
    with pytest.raises(InputError, match="rope_scaling"):
        read_shape(Place(gguf_file(tmp_path / "long.gguf", **{"llama.rope.scaling.type": "yarn"})))


STRANGE = [0, -1, 1.5, "8", "", [], {}, [1], True, 1e30, 10**30, math.nan, {"rope_type": "llama3"},
           {"rope_type": "llama3", "factor": "x"}, {"rope_theta": [1]}]  # fmt: skip


@for_each("kind", ["llama", "mistral", "qwen2", "qwen3"])
def test_no_setting_is_too_strange_to_be_refused(kind):
    whole = {**SIZES, "head_dim": 8, "sliding_window": 64, "rope_scaling": None, "rope_parameters": None}
    for key in whole:
        for value in STRANGE:
            with suppress(InputError):  # anything else fails
                found = shape_of({**whole, "model_type": kind, key: value}, name="config.json")
                assert 1 <= found.window <= 10_000_000


def test_a_size_that_is_none_is_named_with_what_is_allowed():
    with pytest.raises(InputError) as caught:
        shape_of({**SIZES, "model_type": "llama", "num_attention_heads": 0, "rms_norm_eps": "x"}, name="c")
    assert "num_attention_heads is missing or not valid" in str(caught.value)
    assert "rms_norm_eps is missing or not valid" in str(caught.value)
