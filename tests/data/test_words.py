import numpy as np

from tests.small_run import small_parts
from trimtab.data.words import begins_word, num_words, words_of


def test_tokens_know_their_words(tmp_path):
    tokenizer = small_parts(tmp_path).datasets.tokenizer
    begins = begins_word(tokenizer)
    text = "the small rudder turns"
    ids = np.array(tokenizer.encode([text])[0])
    words = words_of(ids, begins)
    assert num_words(words) == 4
    assert words[-1] == -1
    for number, word in enumerate(text.split()):
        assert tokenizer.decode([ids[words == number].tolist()]) == [word]


def test_tags_and_the_end_are_no_words():
    begins = np.array([False, False, True, False])
    assert words_of(np.array([1, 2, 3, 2, 0]), begins, num_tags=1).tolist() == [-1, 0, 0, 1, -1]
    assert num_words(words_of(np.array([0]), begins)) == 0
