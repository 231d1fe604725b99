import json

from transformers import AutoConfig, GenerationConfig

from trimtab.export.hf.marian_settings import search, shape, write_settings
from trimtab.inference import load_model


def test_the_search_of_the_trainer_is_written_and_no_symbol_is_forced(trained_run, tmp_path):
    """Both classes force an end symbol of their own by default, which here is an ordinary id."""
    model = load_model(str(trained_run), device="cpu")
    write_settings(model, tmp_path)
    config, generation = AutoConfig.from_pretrained(tmp_path), GenerationConfig.from_pretrained(tmp_path)
    assert config.model_type == "pegasus"
    assert config.architectures == ["PegasusForConditionalGeneration"]
    assert getattr(config, "forced_eos_token_id", None) is None
    assert generation.forced_eos_token_id is None
    assert (generation.num_beams, generation.length_penalty, generation.early_stopping) == (4, 1.0, "never")
    assert sorted(generation.suppress_tokens) == [0, 1, 2]
    assert generation.max_length == 33
    assert (generation.decoder_start_token_id, generation.eos_token_id, generation.pad_token_id) == (2, 3, 0)
    written = json.loads((tmp_path / "config.json").read_text())
    assert written["scale_embedding"] is True
    assert written["max_position_embeddings"] == model.model.max_positions == 64


def test_sizes_are_those_of_each_side(trained_run):
    model = load_model(str(trained_run), device="cpu")
    found = shape(model)
    assert (found["d_model"], found["encoder_attention_heads"], found["decoder_ffn_dim"]) == (32, 2, 64)
    assert found["vocab_size"] == model.tokenizer.num_ids
    assert search(model)["max_length"] == model.recipe.data.max_tokens + 1
