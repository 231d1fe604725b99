from pathlib import Path

import pytest

from tests.small_run import WORDS, small_pairs
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.inference.terminology import open_glossary

LINES = [source for source, _ in small_pairs(6, seed=5)]
GLOSSARY = {"ship": "boot", "red": ["gelbe", "grosse"], "wind": "schiff wasser"}


def write(folder: Path, text: str) -> Path:
    path = folder / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
def test_terms_come_where_they_are_in_the_line_and_other_lines_stay_as_they_were(trained_run, tmp_path):
    translator = load_translator(str(trained_run))
    lines = ["the small ship turns", "the rudder holds", "Red WIND never pulls the ship", ""]
    free, found = translator.translate(lines), translator.translate(lines, glossary=GLOSSARY)
    assert "boot" in found[0].split()
    assert found[1] == free[1]
    assert "boot" in found[2]
    assert "schiff wasser" in found[2]
    assert "gelbe" in found[2] or "grosse" in found[2]
    counts = translator.counts
    assert (counts.terms, counts.lines_with_terms, counts.missing_terms) == (4, 2, 0)
    file = write(tmp_path, "ship\tboot\nred\tgelbe\tgrosse\nwind\tschiff wasser\n")
    assert translator.translate(lines, glossary=file) == found
    opened = open_glossary(file)
    few = translator.n_best(lines, n=3, glossary=opened)
    terms = translator.glossary[1]
    assert translator.translate(lines, glossary=opened) == found
    assert translator.glossary[1] is terms
    assert [each[0].text for each in few] == found
    assert all("boot" in each.text for each in few[0])


def test_a_glossary_whose_terms_are_in_no_line_changes_nothing(trained_run):
    translator = load_translator(str(trained_run))
    assert translator.translate(LINES, glossary={"keel": "boot"}) == translator.translate(LINES)
    assert translator.counts.terms == 0


def test_a_line_without_room_for_its_terms_is_reported(trained_run, caplog):
    translator = load_translator(str(trained_run))
    (found,) = translator.translate(["ship wind"], glossary={"ship": "boot " * 60, "wind": "schiff"})
    assert "schiff" in found
    assert translator.counts.missing_terms == 1
    assert (
        "line 1: its translation lacks 1 term of the glossary, for which it has no room: 'ship'"
        in caplog.text
    )


@pytest.mark.parametrize("wrong", [{"ship": []}, "nowhere.tsv"])
def test_what_is_no_glossary_is_refused(trained_run, wrong):
    with pytest.raises(InputError):
        load_translator(str(trained_run)).translate(["ship"], glossary=wrong)


def test_a_glossary_excludes_prefixes_and_samples(trained_run):
    translator = load_translator(str(trained_run))
    with pytest.raises(InputError, match="a forced prefix"):
        translator.translate(["ship"], glossary=GLOSSARY, prefixes="das")
    sampling = load_translator(str(trained_run), search=Search(sampling=Sampling()))
    with pytest.raises(InputError, match="samples are drawn"):
        sampling.translate(["ship"], glossary=GLOSSARY)


def test_words_that_the_vocabulary_cannot_spell_are_named(trained_run):
    assert "ship" in WORDS
    with pytest.raises(InputError, match="cannot spell '船'"):
        load_translator(str(trained_run)).translate(["ship"], glossary={"ship": "船"})


@pytest.mark.slow
def test_an_export_with_a_search_of_its_own_refuses_it_by_name(trained_run, exported_run, tmp_path):
    pytest.importorskip("ctranslate2")
    from trimtab.exporting import export_model

    folder = export_model(str(trained_run), to="ctranslate2", out=tmp_path / "ct2").folder
    with pytest.raises(InputError, match="CTranslate2 export") as caught:
        load_translator(str(folder)).translate(["the ship"], glossary=GLOSSARY)
    assert "a glossary" in str(caught.value)
    assert "boot" in load_translator(str(exported_run)).translate(["the ship"], glossary=GLOSSARY)[0]
