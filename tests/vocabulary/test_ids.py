from trimtab.vocabulary.ids import ids_of, renumbered, resized

SETTINGS = {
    "pad_token_id": 5,
    "eos_token_id": [3, 4],
    "forced_bos_token_id": None,
    "bos_token_id": -1,
    "hidden_size": 5,
    "use_cache": True,
    "bad_words_ids": [[5], [9, 3]],
    "suppress_tokens": [3, 9],
    "forced_decoder_ids": [[1, 4]],
    "lang_code_to_id": {"de": 4},
    "task_specific_params": {"translation": {"decoder_start_token_id": 5, "num_beams": 3}},
}


def test_every_id_is_found_and_nothing_else():
    found = sorted(id for _, id in ids_of(SETTINGS))
    assert found == [3, 3, 3, 4, 4, 4, 5, 5, 5, 9, 9]
    assert ("task_specific_params.translation.decoder_start_token_id", 5) in [*ids_of(SETTINGS)]


def test_ids_are_renumbered_and_lists_lose_what_is_gone():
    told = renumbered(SETTINGS, {3: 0, 4: 1, 5: 2}.get)
    assert told["pad_token_id"] == 2
    assert told["eos_token_id"] == [0, 1]
    assert told["bad_words_ids"] == [[2]]
    assert told["suppress_tokens"] == [0]
    assert told["forced_decoder_ids"] == [[1, 1]]
    assert told["lang_code_to_id"] == {"de": 1}
    assert told["task_specific_params"]["translation"] == {"decoder_start_token_id": 2, "num_beams": 3}
    assert {key: told[key] for key in ("hidden_size", "use_cache", "bos_token_id", "forced_bos_token_id")} == {
        "hidden_size": 5, "use_cache": True, "bos_token_id": -1, "forced_bos_token_id": None,
    }  # fmt: skip


def test_sizes_change_where_they_are_the_vocabulary_s():
    told = resized({"vocab_size": 10, "decoder_vocab_size": 10, "hidden_size": 10}, old=10, size=7)
    assert told == {"vocab_size": 7, "decoder_vocab_size": 7, "hidden_size": 10}
