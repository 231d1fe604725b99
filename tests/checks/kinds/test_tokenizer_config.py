from tests.checks.kinds.describing import describe, values
from trimtab.checks.kinds.tokenizer_config import KIND


def test_tokens_are_told_as_text_in_both_spellings():
    text = '{"tokenizer_class": "X", "model_max_length": 512, "pad_token": "</s>", "eos_token": {"content": "</s>"}}'
    run = describe(KIND, text, file="tokenizer_config.json")
    assert values(run, "pad_token", "eos_token", "chat_template") == ("</s>", "</s>", None)


def test_a_vocabulary_for_both_sides_is_told():
    text = '{"tokenizer_class": "MarianTokenizer", "model_max_length": 512, "separate_vocabs": false}'
    assert describe(KIND, text, file="tokenizer_config.json").value("shared_vocabulary") is True
