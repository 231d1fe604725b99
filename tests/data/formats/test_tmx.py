import gzip
import pickle
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.tmx import open_tmx
from trimtab.errors import InputError

UNITS = [{"en": "one", "de": "eins", "fr": "un"}, {"en": "two"}, {"en": "three & more", "de": "drei\nZeilen"}]
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
    max_size=8,
)


def memory(units, *, key="xml:lang"):
    """A translation memory, a unit for each record of texts by language."""
    variants = [
        "<tu>"
        + "".join(f"<tuv {key}={quoteattr(c)}><seg>{escape(t)}</seg></tuv>" for c, t in unit.items())
        + "</tu>"
        for unit in units
    ]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4"><header srclang="en"/><body>{"".join(variants)}</body></tmx>'
    )


def pairs_in(path, source="en", target="de"):
    pairs = open_tmx(path, source=source, target=target, cache=path.parent / "cache")
    found = [pairs.pair(line) for line in range(len(pairs))]
    assert list(pairs.several(range(len(pairs)))) == found
    assert [pickle.loads(pickle.dumps(pairs)).pair(line) for line in range(len(pairs))] == found
    return found


def refused(path, source="en", target="de"):
    with pytest.raises(InputError) as caught:
        open_tmx(path, source=source, target=target, cache=path.parent / "cache")
    (problem,) = caught.value.problems
    assert problem.got
    assert problem.allowed
    assert problem.fix
    return problem


@pytest.mark.parametrize("key", ["xml:lang", "lang"])
def test_units_with_both_languages_are_the_pairs(tmp_path, key):
    path = tmp_path / "m.tmx"
    path.write_text(memory(UNITS, key=key), encoding="utf-8")
    assert pairs_in(path) == [("one", "eins"), ("three & more", "drei\nZeilen")]
    again = open_tmx(path, source="en", target="de", cache=tmp_path / "cache")
    assert again.passed_over == {"other_language": 1}
    assert pairs_in(path, "de", "fr") == [("eins", "un")]


def test_a_code_means_its_regions_where_it_is_not_there_itself(tmp_path):
    path = tmp_path / "m.tmx"
    path.write_text(
        memory([{"EN-GB": "lorry", "en": "truck", "de-AT": "Lkw"}, {"en-GB": "lift", "de": "Aufzug"}])
    )
    assert pairs_in(path) == [("truck", "Lkw"), ("lift", "Aufzug")]
    assert pairs_in(path, "en-gb") == [("lorry", "Lkw"), ("lift", "Aufzug")]


def test_markup_of_other_programs_is_no_text(tmp_path):
    path = tmp_path / "m.tmx"
    coded = 'Press <bpt i="1">&lt;b&gt;</bpt><hi>the key</hi><ept i="1">&lt;/b&gt;</ept><ph>{0}</ph> now'
    body = memory([{"en": "X", "de": "Taste"}]).replace("X", coded)
    path.write_text(body)
    assert pairs_in(path) == [("Press the key now", "Taste")]


@settings(max_examples=20)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_any_texts_come_back(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("memory") / "m.tmx.gz"
    content = memory([{"en": left, "de": right} for left, right in pairs])
    path.write_bytes(gzip.compress(content.encode()))
    assert pairs_in(path) == pairs


def test_a_recipe_names_it_as_any_file_of_pairs(tmp_path):
    (tmp_path / "m.tmx").write_text(memory(UNITS))
    corpus = open_corpus(
        TrainCorpus(pairs="m.tmx", source="en", target="de"), root=tmp_path, cache=tmp_path / "cache"
    )
    assert (corpus.name, len(corpus), corpus.pair(0)) == ("m", 2, ("one", "eins"))
    assert corpus.place(1) == f"{tmp_path}/m.tmx:3"


def test_what_is_wrong_is_said_with_what_is_there(tmp_path):
    path = tmp_path / "m.tmx"
    path.write_text(memory(UNITS))
    assert refused(path, target="it").allowed == "de, en, fr"
    assert "language code" in refused(path, source=1).allowed
    path.write_text(memory(UNITS)[:-20])
    assert refused(path).where.startswith(f"{path}:4:")


def test_entities_that_swell_are_refused(tmp_path):
    path = tmp_path / "m.tmx"
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha" * 10}">' for n in range(9))
    path.write_text(
        f"<!DOCTYPE tmx [{bomb}]>"
        + memory([{"en": "X", "de": "x"}]).partition('.dtd">')[2].replace("X", "&a8;")
    )
    assert refused(path).what.endswith("is not valid XML")


def test_a_unit_with_several_variants_of_a_language_is_as_many_pairs(tmp_path):
    path = tmp_path / "m.tmx"
    unit = (
        '<tu><tuv xml:lang="en_US"><seg>color</seg></tuv><tuv xml:lang="EN-GB"><seg>colour</seg></tuv>'
        '<tuv xml:lang="de"><seg>Farbe</seg></tuv><tuv xml:lang="de"><seg>Farbton</seg></tuv>'
        '<tuv xml:lang="de"><seg>Farbe</seg></tuv></tu>'
    )
    path.write_text(memory([]).replace("<body>", f"<body>{unit}"))
    both = [("color", "Farbe"), ("color", "Farbton"), ("colour", "Farbe"), ("colour", "Farbton")]
    assert pairs_in(path) == both
    assert pairs_in(path, "en-us") == both[:2]


def test_a_file_of_another_encoding_is_read_as_it_says(tmp_path):
    path = tmp_path / "m.tmx"
    path.write_bytes(memory([{"en": "ä", "de": "ß"}]).replace("UTF-8", "UTF-16").encode("utf-16"))
    assert pairs_in(path) == [("ä", "ß")]
