from tests.for_each import for_each
from trimtab.checks.say.words import idea, known_words, words_of


def test_words_are_stems_and_ideas_with_their_denial():
    assert words_of("the loss does not decrease") == {idea("loss"): False, idea("decrease"): True}
    assert words_of("neftune has no effect") == {idea("neftune"): False, idea("effect"): True}


def test_a_pasted_message_loses_what_is_of_one_machine():
    text = 'File "/home/me/x.py", line 7, in f: RuntimeError at 0xdeadbeef, see https://example.org/a'
    assert set(words_of(text)) == set(words_of("in f: RuntimeError, see"))


def test_an_identifier_counts_as_a_whole_and_in_its_parts():
    assert {"assistant_only_loss", idea("loss"), "assistant"} <= set(words_of("--assistant_only_loss=True"))
    assert {"completion", "datacollatorforcompletiononlylm"} <= set(
        words_of("DataCollatorForCompletionOnlyLM")
    )


@for_each(("one", "other"), [("oom", "vram"), ("repeats", "repetition"), ("eos", "stops"), ("lora", "qlora")])
def test_words_of_one_meaning_are_one(one, other):
    assert idea(one) == idea(other)
    assert one in known_words() or idea(one) in known_words()
