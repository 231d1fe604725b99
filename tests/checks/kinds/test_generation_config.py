from tests.checks.kinds.describing import describe, document, values
from trimtab.checks.kinds.generation_config import KIND


def test_decoding_and_ids_are_told():
    text = '{"num_beams": 5, "no_repeat_ngram_size": 3, "eos_token_id": 1, "pad_token_id": 0, "do_sample": false}'
    run = describe(KIND, text, file="generation_config.json")
    assert values(run, "beam", "no_repeat_ngram", "eos_token_id", "pad_token_id") == (5, 3, 1, 0)
    assert run.value("repetition_penalty") is None


def test_a_models_file_with_such_keys_is_not_one():
    assert not KIND.recognises(
        document("a.json", '{"model_type": "bart", "num_beams": 4, "do_sample": true}')
    )
