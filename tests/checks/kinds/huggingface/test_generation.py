from tests.checks.kinds.describing import words, written
from tests.for_each import for_each
from trimtab.checks.kinds.huggingface.generation import put_generation


@for_each(
    ("settings", "told"),
    [
        ({"num_beams": 4, "no_repeat_ngram_size": 0}, {"beam": 4, "no_repeat_ngram": 0}),
        ({"eos_token_id": [2, 3]}, {"eos_token_id": 2}),
        ({"eos_token_id": 2, "pad_token_id": None}, {"eos_token_id": 2}),
        ({"eos_token_id": []}, {}),
        ({"repetition_penalty": 1}, {"repetition_penalty": 1.0}),
    ],
)
def test_decoding_is_told(settings, told):
    found = {}
    put_generation(found, written(**settings).settings)
    assert words(found) == told
