import json

import pytest

from tests.export.text_models import network, vocabulary
from trimtab.export.hf.llama_shape import class_name, write_settings


@pytest.mark.parametrize(
    ("changes", "name"), [({}, "LlamaForCausalLM"), ({"qk_norm": True}, "Qwen3ForCausalLM")]
)
def test_the_class_is_that_which_has_the_norms(changes, name, tmp_path):
    model = network(260, **changes)
    write_settings(model.config, vocabulary("bytes"), tmp_path, window=96)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == [name] == [class_name(model.config)]
    assert (config["vocab_size"], config["max_position_embeddings"], config["rms_norm_eps"]) == (
        260,
        96,
        1e-6,
    )
    assert config["tie_word_embeddings"] is True


def test_older_versions_find_the_wavelengths_where_they_look_for_them(tmp_path):
    write_settings(network(260, rope_theta=1e6).config, vocabulary("bytes"), tmp_path, window=96)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["rope_theta"] == 1e6
    assert config["rope_parameters"] == {"rope_theta": 1e6, "rope_type": "default"}


def test_padding_start_and_unknown_are_never_written(tmp_path):
    write_settings(network(260).config, vocabulary("bytes"), tmp_path, window=96)
    settings = json.loads((tmp_path / "generation_config.json").read_text())
    assert settings["suppress_tokens"] == [0, 1, 2]
    assert (settings["eos_token_id"], settings["bos_token_id"], settings["do_sample"]) == (3, 2, False)
