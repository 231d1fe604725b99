from trimtab.checks.say.ranking import Index, page_text, weights_of
from trimtab.checks.say.words import words_of

TEXTS = {
    "pad": page_text(("model does not stop", "endless text"), "the end token is the padding"),
    "rate": page_text(("loss explodes",), "the learning rate is far too large"),
    "effect": page_text(("neftune drowns embeddings",), "noise of neftune is too strong"),
}
PAGES = Index(TEXTS.items(), weights_of(list(TEXTS.values())))


def first(text: str) -> str:
    return PAGES.ranked(words_of(text))[0][1]


def test_phrases_and_bodies_decide():
    assert first("it does not stop") == "pad"
    assert first("my learning rate") == "rate"


def test_words_that_no_page_has_do_not_count():
    assert (
        PAGES.ranked(words_of("loss explodes"))[0] == PAGES.ranked(words_of("loss explodes frobnicates"))[0]
    )
    assert PAGES.ranked(words_of("frobnicates"))[0][0] == 0.0


def test_a_phrase_in_a_longer_question_is_found():
    assert first("since yesterday the loss explodes with my padding") == "rate"


def test_what_one_side_denies_counts_less():
    scores = {
        text: PAGES.score(PAGES.known(words_of(text)), PAGES.pages[0]) for text in ("never stops", "stops")
    }
    assert scores["never stops"] > scores["stops"]
