from trimtab.checks.adapter_names import ATTENTION, EMBEDDINGS, last_part, names_in


def test_the_last_part_of_a_dotted_name_counts():
    assert last_part("model.layers.0.self_attn.q_proj") == "q_proj"
    assert last_part("q_proj") == "q_proj"


def test_names_are_found_by_their_last_part_and_what_is_no_text_is_left_out():
    assert names_in(["model.embed_tokens", "lm_head", 3, None], EMBEDDINGS) == ["model.embed_tokens"]
    assert names_in(None, ATTENTION) == []
