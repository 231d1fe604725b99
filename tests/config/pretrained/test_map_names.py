from trimtab.config.pretrained.map_names import target_of


def test_the_longest_ending_is_meant():
    assert target_of("model.layers.0.self_attn.q_proj") == "q_proj"
    assert target_of("encoder.layer.0.attention.output.dense") == "o_proj"
    assert target_of("encoder.layer.0.output.dense") == "down_proj"
    assert target_of("transformer.h.0.attn.c_attn") == "q_proj"
    assert target_of("embed_tokens") is None
