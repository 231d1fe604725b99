import json
import math
from contextlib import suppress

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.fit.families import FAMILIES, SIZES, family_shape


def settings_of(config):
    """As they are written to config.json."""
    return json.loads(config.to_json_string(use_diff=False))


def check(model_class, config, **shorter):
    with torch.device("meta"):
        real = model_class(config)
    shape, _ = family_shape({**settings_of(config), **shorter}, name="config.json")
    assert shape.parameters == sum(weight.numel() for weight in real.parameters())


LLAMAS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig"),
    "mistral": ("MistralForCausalLM", "MistralConfig"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config"),
    "gemma": ("GemmaForCausalLM", "GemmaConfig"),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config"),
    "gemma3_text": ("Gemma3ForCausalLM", "Gemma3TextConfig"),
}
SOME = [
    name if name in ("llama", "gemma3_text") else pytest.param(name, marks=pytest.mark.slow)
    for name in LLAMAS
]
"""One that its successors are like, and the one with the most settings."""
SMALL = {"deadline": None, "max_examples": 3}


@pytest.mark.parametrize("kind", SOME)
@settings(**SMALL)
@given(
    st.sampled_from([(2, 1), (4, 2), (4, 4)]),
    st.sampled_from([None, 16]),
    st.integers(1, 3),
    st.integers(10, 300),
    st.booleans(),
    st.booleans(),
)
def test_decoders_have_as_many_parameters_as_in_transformers(kind, heads, size, layers, rows, tied, biased):
    model_class, config_class = (getattr(transformers, name) for name in LLAMAS[kind])
    more = {} if size is None else {"head_dim": size}
    if kind not in ("qwen2", "mistral"):
        more["attention_bias"] = biased
    if kind == "llama":
        more["mlp_bias"] = biased
    config = config_class(
        vocab_size=rows,
        hidden_size=32,
        intermediate_size=56,
        num_hidden_layers=layers,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
        tie_word_embeddings=tied,
        pad_token_id=0,
        **more,
    )
    check(model_class, config)


@pytest.mark.parametrize("kind", ["T5", pytest.param("MT5", marks=pytest.mark.slow)])
@settings(**SMALL)
@given(
    st.integers(1, 3), st.integers(1, 3), st.sampled_from(["relu", "gated-gelu"]), st.booleans(),
    st.integers(10, 300), st.sampled_from([8, 32]),
)  # fmt: skip
def test_t5_has_as_many_parameters_as_in_transformers(kind, above, below, how, tied, rows, buckets):
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=rows,
        d_model=32,
        d_kv=12,
        d_ff=40,
        num_layers=above,
        num_decoder_layers=below,
        num_heads=4,
        feed_forward_proj=how,
        tie_word_embeddings=tied,
        relative_attention_num_buckets=buckets,
    )
    check(getattr(transformers, f"{kind}ForConditionalGeneration"), config)


@settings(**SMALL)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(10, 300), st.booleans())
def test_nllb_has_as_many_parameters_as_in_transformers(above, below, rows, tied):
    config = transformers.M2M100Config(
        vocab_size=rows,
        d_model=32,
        encoder_layers=above,
        decoder_layers=below,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=40,
        decoder_ffn_dim=56,
        tie_word_embeddings=tied,
    )
    check(transformers.M2M100ForConditionalGeneration, config)


@settings(**SMALL)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(10, 300), st.booleans())
def test_marian_has_as_many_parameters_as_in_transformers(above, below, rows, shares):
    config = transformers.MarianConfig(
        vocab_size=rows,
        decoder_vocab_size=None if shares else rows + 7,
        share_encoder_decoder_embeddings=shares,
        d_model=32,
        encoder_layers=above,
        decoder_layers=below,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=40,
        decoder_ffn_dim=56,
        pad_token_id=0,
        decoder_start_token_id=0,
        max_position_embeddings=64,
    )
    check(transformers.MarianMTModel, config)


@settings(**SMALL)
@given(st.integers(1, 3), st.integers(10, 300), st.integers(8, 64), st.integers(1, 3))
def test_bert_has_as_many_parameters_as_in_transformers(layers, rows, positions, kinds):
    config = transformers.BertConfig(
        vocab_size=rows,
        hidden_size=32,
        intermediate_size=40,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=positions,
        type_vocab_size=kinds,
    )
    check(transformers.BertForMaskedLM, config)


@settings(**SMALL)
@given(
    st.integers(1, 3),
    st.sampled_from([(32, 8), (48, 16)]),
    st.integers(1, 4),
    st.booleans(),
    st.integers(2, 9),
)
def test_vit_has_as_many_parameters_as_in_transformers(layers, picture, channels, biased, labels):
    config = transformers.ViTConfig(
        hidden_size=32,
        intermediate_size=40,
        num_hidden_layers=layers,
        num_attention_heads=4,
        image_size=picture[0],
        patch_size=picture[1],
        num_channels=channels,
        qkv_bias=biased,
        num_labels=labels,
    )
    check(transformers.ViTForImageClassification, config)


@for_each("kind", LLAMAS)
def test_settings_that_a_file_leaves_out_have_the_defaults_of_transformers(kind):
    model_class, config_class = (getattr(transformers, name) for name in LLAMAS[kind])
    sizes = {"vocab_size": 50, "hidden_size": 64, "intermediate_size": 56, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 32}
    real = config_class(**sizes, **heads)
    with torch.device("meta"):
        model = model_class(real)
    shape, _ = family_shape({"model_type": kind, **sizes, **heads}, name="config.json")
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())


def test_a_gemma_with_images_is_planned_by_its_text_model():
    inner = {"model_type": "gemma3_text", **dict.fromkeys(SIZES, 8), "head_dim": 4, "num_key_value_heads": 2}
    assert family_shape({"model_type": "gemma3", "text_config": inner}, name="x")[0].parameters > 0


def test_an_unknown_architecture_is_told_with_the_sizes_that_are_missing():
    with pytest.raises(InputError) as told:
        family_shape({"model_type": "mamba", "hidden_size": 8}, name="config.json")
    assert "model_type mamba, without num_hidden_layers" in str(told.value)
    assert all(kind in str(told.value) for kind in FAMILIES)


def test_each_missing_size_is_told():
    with pytest.raises(InputError) as told:
        family_shape({"model_type": "llama", "hidden_size": -3, "vocab_size": "many"}, name="config.json")
    assert "vocab_size is no size" in str(told.value)
    assert "intermediate_size is missing" in str(told.value)
    assert "hidden_size is no size" in str(told.value)


@for_each(
    "changes",
    [
        {"num_attention_heads": 10**7},
        {"tie_word_embeddings": "x"},
        {"head_dim": "no"},
        {"num_key_value_heads": []},
    ],
)
def test_settings_that_make_no_sense_end_in_a_message_or_a_plan(changes):
    given_settings = {"model_type": "llama", **dict.fromkeys(SIZES, 8), **changes}
    with suppress(InputError):
        assert family_shape(given_settings, name="config.json")[0].parameters > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, "7 heads do not divide"),
        ({"num_key_value_heads": 3}, "num_key_value_heads 3 does not divide"),
    ],
)
def test_heads_that_share_no_whole_number_are_refused(changes, said):
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 96}
    settings = {"model_type": "llama", "vocab_size": 100, **sizes, **changes}
    with pytest.raises(InputError, match=said):
        family_shape(settings, name="config.json")


DECODER = {
    "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 8, "attention_bias": False, "tie_word_embeddings": True,
}  # fmt: skip
SIDES = {
    f"{side}_{key}": value
    for side in ("encoder", "decoder")
    for key, value in (("layers", 2), ("attention_heads", 8), ("ffn_dim", 96))
}
COMPLETE = {
    "llama": {**DECODER, "mlp_bias": False},
    "gemma2": DECODER,
    "t5": {
        "vocab_size": 100, "d_model": 64, "d_kv": 8, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 2,
        "num_heads": 8, "feed_forward_proj": "relu", "dropout_rate": 0.1, "relative_attention_num_buckets": 32,
        "tie_word_embeddings": True,
    },
    "m2m_100": {**SIDES, "vocab_size": 100, "d_model": 64, "dropout": 0.1, "activation_function": "relu"},
    "marian": {
        **SIDES, "vocab_size": 100, "d_model": 64, "decoder_vocab_size": 100, "share_encoder_decoder_embeddings": False,
        "max_position_embeddings": 64,
    },
    "bert": {
        "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
        "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_dropout_prob": 0.1,
    },
    "vit": {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8, "image_size": 32,
        "patch_size": 16, "num_channels": 3, "num_labels": 4, "qkv_bias": True,
    },
}  # fmt: skip
HOSTILE = [-1, 10**12, 1.5, [], {}, ["8"], {"a": 1}, math.nan, math.inf, "", 7.0]


@pytest.mark.parametrize("kind", COMPLETE)
def test_each_setting_of_another_type_or_size_is_refused_by_its_name(kind):
    good = {"model_type": kind, **COMPLETE[kind]}
    assert family_shape(good, name="config.json")[0].parameters > 0
    for key, value in COMPLETE[kind].items():
        other = ["many", "12", "false"] if not isinstance(value, str) else []
        for bad in (*HOSTILE, *other, *([0, True] if type(value) is int else [])):
            if (type(value), bad) == (str, ""):
                continue
            with pytest.raises(InputError) as told:
                family_shape({**good, key: bad}, name="config.json")
            assert key in str(told.value), (key, bad)
            assert all(problem.fix for problem in told.value.problems)


def test_an_unknown_inner_model_is_told_with_the_sizes_that_it_lacks_itself():
    inner = {"model_type": "seen_text", **dict.fromkeys(SIZES[1:], 8)}
    with pytest.raises(InputError) as told:
        family_shape({"model_type": "seen", "text_config": inner}, name="config.json")
    assert told.value.problems[0].got == f"model_type seen_text, without {SIZES[0]}"
    with pytest.raises(InputError, match="model_type None"):
        family_shape({"text_config": ["llama"]}, name="config.json")


PUBLISHED = {
    "Llama-3.2-1B": (1_235_814_400, "llama", (128256, 2048, 8192, 16, 32, 8), {"tie_word_embeddings": True}),
    "Llama-2-7b": (6_738_415_616, "llama", (32000, 4096, 11008, 32, 32, 32), {}),
    "SmolLM2-135M": (134_515_008, "llama", (49152, 576, 1536, 30, 9, 3), {"tie_word_embeddings": True}),
    "Qwen2.5-0.5B": (494_032_768, "qwen2", (151936, 896, 4864, 24, 14, 2), {"tie_word_embeddings": True}),
    "Qwen2.5-14B": (14_770_033_664, "qwen2", (152064, 5120, 13824, 48, 40, 8), {}),
    "Qwen3-0.6B": (596_049_920, "qwen3", (151936, 1024, 3072, 28, 16, 8), {"tie_word_embeddings": True}),
    "Qwen3-8B": (8_190_735_360, "qwen3", (151936, 4096, 12288, 36, 32, 8), {}),
    "Mistral-7B-v0.1": (7_241_732_096, "mistral", (32000, 4096, 14336, 32, 32, 8), {"sliding_window": 4096}),
    "gemma-2b": (2_506_172_416, "gemma", (256000, 2048, 16384, 18, 8, 1), {}),
    "gemma-2-2b": (2_614_341_888, "gemma2", (256000, 2304, 9216, 26, 8, 4), {"sliding_window": 4096}),
    "gemma-3-1b": (999_885_952, "gemma3_text", (262144, 1152, 6912, 26, 4, 1), {"sliding_window": 512}),
}
"""Parameters of models as published, and the settings of their files."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_have_the_parameters_that_they_are_published_with(name):
    parameters, kind, sizes, more = PUBLISHED[name]
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    settings_of_file = dict(zip((*keys, "num_key_value_heads"), sizes, strict=True)) | more
    assert family_shape({"model_type": kind, **settings_of_file}, name=name)[0].parameters == parameters
