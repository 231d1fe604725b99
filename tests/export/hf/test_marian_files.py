import json
import shutil

import pytest

from trimtab.errors import InputError
from trimtab.export.hf.marian_files import check_files, check_shapes


@pytest.fixture
def copy(exported_run, tmp_path):
    return shutil.copytree(exported_run, tmp_path / "copy")


def change(folder, name="config.json", **values):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_what_an_export_writes_passes(exported_run):
    assert check_files(exported_run)["d_model"] == 32


@pytest.mark.parametrize(
    "values",
    [
        {"auto_map": {"AutoConfig": "evil.C"}},
        {"attn_implementation": "kernels-community/flash-attn"},
        {"_attn_implementation": "evil/repo"},
        {"quantization_config": {"quant_method": "bitsandbytes"}},
        {"trust_remote_code": True},
        {"model_type": "t5"},
        {"model_type": ["pegasus"]},
        {"model_type": "marian"},
        {"architectures": ["GPT2LMHeadModel"]},
        {"architectures": None},
        {"decoder_layers": 10**6},
        {"decoder_layers": True},
        {"decoder_attention_heads": 0},
        {"decoder_attention_heads": 3},
        {"d_model": "x"},
        {"d_model": -1},
        {"vocab_size": 10**9},
        {"vocab_size": 3},
        {"decoder_start_token_id": None},
        {"decoder_start_token_id": 999_999},
        {"pad_token_id": None},
        {"activation_function": "evil"},
        {"dropout": float("nan")},
        {"dtype": "evil"},
        {"forced_eos_token_id": 1},
    ],
    ids=str,
)
def test_a_setting_that_no_export_writes_is_refused_by_name(copy, values):
    change(copy, **values)
    with pytest.raises(InputError) as caught:
        check_files(copy)
    said = str(caught.value)
    assert next(iter(values)) in said or "heads" in said or "vocabulary of 3" in said or "symbol" in said
    assert "config.json" in said


@pytest.mark.parametrize(
    "values", [{"custom_generate": "evil/repo"}, {"suppress_tokens": ["x"]}, {"num_beams": 10**9}], ids=str
)
def test_a_setting_of_the_search_is_looked_at_too(copy, values):
    change(copy, "generation_config.json", **values)
    with pytest.raises(InputError, match=next(iter(values))):
        check_files(copy)


def test_a_folder_without_settings_of_the_search_is_fine(copy):
    (copy / "generation_config.json").unlink()
    check_files(copy)


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "adapter_config.json",
        "model-00001-of-00002.safetensors",
    ],
)
def test_other_weights_are_refused_by_name(copy, name):
    (copy / name).write_text("{}")
    with pytest.raises(InputError, match="weights that are not the export's"):
        check_files(copy)


def test_an_index_in_place_of_the_weights_is_refused(copy):
    (copy / "model.safetensors").rename(copy / "model.safetensors.index.json")
    with pytest.raises(InputError, match=r"model\.safetensors: not a file of an export"):
        check_files(copy)


def test_sizes_are_compared_with_the_weights_before_anything_is_made(exported_run):
    config = check_files(exported_run)
    shapes = {
        "model.shared.weight": [config["vocab_size"], 32],
        "model.encoder.layers.0.fc1.weight": [config["encoder_ffn_dim"], 32],
        "model.decoder.layers.0.fc1.weight": [config["decoder_ffn_dim"], 32],
    }
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    check_shapes(exported_run, {**config, **layers}, shapes)
    for wrong in ({"vocab_size": 99}, {"decoder_layers": 2}, {"encoder_ffn_dim": 9}):
        with pytest.raises(InputError, match="in place of"):
            check_shapes(exported_run, {**config, **layers, **wrong}, shapes)
