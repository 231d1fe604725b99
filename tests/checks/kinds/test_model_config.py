import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.kinds.describing import check, describe, document, values
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.model_config import KIND

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
    "tie_word_embeddings": False, "eos_token_id": [2, 5], "torch_dtype": "bfloat16",
}  # fmt: skip
MARIAN = {
    "architectures": ["MarianMTModel"], "model_type": "marian", "d_model": 512, "decoder_layers": 6,
    "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "encoder_layers": 6, "vocab_size": 58101,
    "is_encoder_decoder": True, "decoder_start_token_id": 58100, "pad_token_id": 58100, "num_beams": 6,
    "dropout": 0.1,
}  # fmt: skip
TROCR = {
    "model_type": "vision-encoder-decoder", "architectures": ["VisionEncoderDecoderModel"],
    "decoder": {"model_type": "trocr", "d_model": 1024, "decoder_layers": 12, "vocab_size": 50265},
    "encoder": {"model_type": "vit", "hidden_size": 768}, "is_encoder_decoder": True,
}  # fmt: skip


def told(config, beside=()):
    return describe(KIND, json.dumps(config), file="config.json", beside=beside)


def test_a_decoder_is_told_with_its_size():
    run = told(LLAMA)
    assert values(run, "model_family", "encoder_decoder", "task") == ("llama", False, "language_model")
    assert values(run, "hidden_size", "layers", "heads", "kv_heads") == (2048, 22, 32, 4)
    assert values(run, "norm", "norm_placement", "positions") == ("rms_norm", "pre", "rotary")
    # TinyLlama 1.1B: 1,100,048,384 parameters, as its model card says.
    assert run.value("parameters_billion") == pytest.approx(1.100048384)
    assert run.value("eos_token_id") == 2


def test_gpt2_is_counted_as_the_library_counts_it():
    config = {
        "model_type": "gpt2",
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "vocab_size": 50257,
        "n_positions": 1024,
    }
    run = told(config)
    assert run.value("parameters_billion") == pytest.approx(0.124439808)
    assert run.value("tied_embeddings") is True


def test_a_translator_is_told_with_its_ids_and_its_beam():
    run = told(MARIAN)
    assert values(run, "task", "encoder_decoder", "layers", "heads") == ("translation", True, 6, 8)
    assert values(run, "positions", "norm_placement", "tied_embeddings") == ("sinusoidal", "post", True)
    assert values(run, "pad_token_id", "decoder_start_token_id", "beam") == (58100, 58100, 6)


def test_of_a_reader_of_text_the_part_that_writes_is_told():
    run = told(TROCR)
    assert values(run, "model_family", "task", "encoder_decoder") == ("trocr", "vision_text", True)
    assert values(run, "hidden_size", "layers") == (1024, 12)


def test_ties_that_a_file_leaves_out_are_the_familys_or_unknown():
    assert told({"model_type": "gemma2", "hidden_size": 8}).value("tied_embeddings") is True
    assert told({"model_type": "nothing-known", "hidden_size": 8}).value("tied_embeddings") is None


def test_other_files_of_the_folder_are_near():
    run = told(MARIAN, beside=[("generation_config.json", '{"num_beams": 4, "max_new_tokens": 5}')])
    assert [other.kind for other in run.nearby] == ["generation-config"]


@pytest.mark.parametrize(
    "text", ['{"model_type": "x", "output_dir": "y", "hidden_size": 1}', '{"hidden_size": 1}', "3"]
)
def test_other_files_are_not_recognised(text):
    assert not KIND.recognises(document("config.json", text))


@given(
    st.dictionaries(
        st.sampled_from(sorted({*LLAMA, *MARIAN, *TROCR})),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.none())
        ),
    ),
    st.sampled_from(["llama", "gpt2", "marian", "t5", "x"]),
)
def test_values_of_any_type_never_raise(settings, family):
    read = document("config.json", json.dumps({**settings, "model_type": family, "hidden_size": 1}))
    for run in KIND.describe(read, Surroundings()):
        check(run)
