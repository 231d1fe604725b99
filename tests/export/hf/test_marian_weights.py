import torch
from safetensors.torch import load_file
from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration

from trimtab.config.model import EncoderDecoderModel
from trimtab.export.hf.marian_weights import named_weights, position_table, write_weights
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.kind import Positions


def model_of(**changes):
    sizes = {"dim": 16, "heads": 4, "layers": 1, "feed_forward": 24}
    return EncoderDecoder(EncoderDecoderModel(**{**sizes, **changes}), num_ids=70, max_positions=64, seed=3)


def names_of(kind, **options):
    config = kind[0](
        vocab_size=70, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=24, decoder_ffn_dim=24,
        encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=64, pad_token_id=0, **options,
    )  # fmt: skip
    return {name: tensor.shape for name, tensor in kind[1](config).state_dict().items()}


def test_the_names_and_shapes_are_those_of_pegasus_tied_ones_once():
    ours = {name: each.shape for name, each in named_weights(model_of(), num_source_ids=70)}
    theirs = names_of((PegasusConfig, PegasusForConditionalGeneration))
    tied = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"}
    assert ours == {name: shape for name, shape in theirs.items() if name not in tied}


def test_those_of_marian_with_a_matrix_for_each_side():
    model = model_of(norm_position="after", tie_embeddings="none")
    ours = {name: each.shape for name, each in named_weights(model, num_source_ids=70)}
    options = {
        "share_encoder_decoder_embeddings": False,
        "decoder_vocab_size": 70,
        "tie_word_embeddings": False,
    }
    assert ours == names_of((MarianConfig, MarianMTModel), **options)


def test_rows_that_stand_for_no_id_are_left_out():
    model = model_of()
    weights = dict(named_weights(model, num_source_ids=70))
    assert model.embedding.weight.shape[0] == 128
    assert torch.equal(weights["model.shared.weight"], model.embedding.weight[:70])


def test_a_shared_head_of_keys_is_repeated_for_each_head_of_queries_beside_it():
    model = model_of(kv_heads=2, bias=False)
    weights = dict(named_weights(model, num_source_ids=70))
    _, keys, values = model.encoder.blocks[0].attention.qkv.weight.split([16, 8, 8])
    for letter, kept in (("k", keys), ("v", values)):
        heads = weights[f"model.encoder.layers.0.self_attn.{letter}_proj.weight"].view(4, 4, 16)
        for head in range(4):
            assert torch.equal(heads[head], kept.view(2, 4, 16)[head // 2])
    assert not any(each.any() for name, each in weights.items() if name.endswith("proj.bias"))


def test_learned_positions_are_stored_at_the_scale_at_which_they_are_added():
    model = model_of(positions="learned")
    table = position_table(model, model.source_positions)
    assert torch.equal(table, model.source_positions.weight * 4)
    assert not position_table(model, Positions()).any()


def test_the_file_is_float32_and_readable_by_whoever_may_read_the_others(tmp_path):
    write_weights(model_of().to(torch.bfloat16), tmp_path, num_source_ids=70)
    (tmp_path / "other").write_text("")
    assert {each.dtype for each in load_file(tmp_path / "model.safetensors").values()} == {torch.float32}
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode
