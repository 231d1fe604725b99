import sys

import pytest

from trimtab.config.corpus_filters import LanguageFilter
from trimtab.config.languages import known_languages
from trimtab.data.transforms import languages as module
from trimtab.data.transforms.languages import (
    has_letters,
    identifies_by,
    is_in_another_language,
    languages_of,
)
from trimtab.errors import InputError

EN = "This sentence is written in English, and there is no doubt about it."
DE = "Dieser Satz ist auf Deutsch geschrieben, und daran besteht kein Zweifel."
FR = "Cette phrase est écrite en français, et il n'y a aucun doute là-dessus."
NONE = "0x00ff 0x01aa {} <b/> 12345 %s 99 aa bb cc dd ee ff 00 11 22"


@pytest.fixture
def judged():
    pytest.importorskip("py3langid")

    def judge(*pair, **named):
        config = LanguageFilter(**{"source": "en", "target": "de", **named})
        return is_in_another_language(
            *pair,
            languages=languages_of(config),
            certainty=config.certainty,
            min_characters=config.min_characters,
        )

    return judge


@pytest.mark.slow
def test_a_side_in_another_language_is_found(judged):
    assert not judged(EN, DE)
    assert judged(FR, DE)
    assert judged(EN, EN)
    assert judged(DE, EN)
    assert not judged(DE, EN, source="deu", target="en-GB")
    assert not judged(EN, FR, target=None)
    assert judged(EN, FR, source=None)


def test_short_lines_and_what_is_no_language_are_not_judged(judged):
    assert not judged("Cette phrase", "est courte")
    assert not judged(EN, NONE)
    assert judged(EN, "Cette phrase est assez courte", min_characters=10, certainty=0.5)
    assert not has_letters("12345 67890 abc", 4)
    assert has_letters("12345 67890 abc", 3)


def test_the_library_knows_every_language_that_a_recipe_may_name(judged):
    assert set(known_languages()) == set(module._identifier().labels) - {"zxx"}
    assert identifies_by().startswith("py3langid ")


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    module._identifier.cache_clear()
    with pytest.raises(InputError, match="not installed") as caught:
        languages_of(LanguageFilter(source="en"))
    assert caught.value.problems[0].fix == 'pip install "trimtab[langid]"'


def test_a_library_that_knows_fewer_languages_is_refused(monkeypatch):
    monkeypatch.setattr(module, "_identifier", lambda: type("Few", (), {"labels": ["en", "fr"]}))
    with pytest.raises(InputError, match="does not know") as caught:
        languages_of(LanguageFilter(source="en", target="de"))
    assert (caught.value.problems[0].got, caught.value.problems[0].allowed) == ("de", "en, fr")


def test_a_line_that_may_be_in_two_other_languages_is_in_neither_of_its_own(judged):
    portuguese = "Você pode adicionar novos comandos, modificar comandos existentes ou reorganizar os itens"
    assert module._identifier().classify(portuguese)[1] < 0.9  # it may also be Galician
    assert judged(EN, portuguese)


@pytest.mark.parametrize(
    ("ranked", "found"),
    [
        ([("pt", 0.6), ("gl", 0.395), ("de", 0.005)], True),
        ([("pt", 0.6), ("de", 0.4)], False),
        ([("pt", 0.989), ("de", 0.011)], False),
        ([("zxx", 0.5), ("pt", 0.5)], False),
        ([("pt", 0.995), ("zxx", 0.005)], True),
    ],
)
def test_the_probabilities_of_all_other_languages_are_added_up(monkeypatch, ranked, found):
    library = type("Library", (), {"rank": lambda self, text: ranked})()
    monkeypatch.setattr(module, "_identifier", lambda: library)
    sides = {"languages": (frozenset(), frozenset({"de"})), "certainty": 0.99, "min_characters": 5}
    assert is_in_another_language("a source", "a target", **sides) is found
