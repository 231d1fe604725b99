import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.po import open_po
from trimtab.errors import InputError

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
CATALOGUE = """\
# a comment
#: file.c:1
#, c-format
msgid "one %d"
msgstr "eins %d"

#, fuzzy, c-format
#| msgid "too"
msgid "two"
msgstr "zwo"
msgctxt "menu"
msgid ""
"three "
"lines\\n"
msgstr ""
"drei \\"Zeilen\\"\\n"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

msgid "untranslated"
msgstr ""

#~ msgid "old"
#~ msgstr "alt"
"""
FOUND = [
    ("one %d", "eins %d"),
    ("three lines\n", 'drei "Zeilen"\n'),
    ("%d file", "%d Datei"),
    ("%d files", "%d Dateien"),
]


def pairs_in(folder, content, source="msgid", target="msgstr", states=()):
    path = folder / "de.po"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    pairs = open_po(path, source=source, target=target, states=states, cache=folder / "cache")
    found = [pairs.pair(line) for line in range(len(pairs))]
    assert [pickle.loads(pickle.dumps(pairs)).pair(line) for line in range(len(pairs))] == found
    return found


def problem(folder, content, **named):
    with pytest.raises(InputError) as caught:
        pairs_in(folder, content, **named)
    (found,) = caught.value.problems
    assert found.got
    assert found.allowed
    assert found.fix
    return found


def test_translated_entries_are_the_pairs_in_either_direction(tmp_path):
    assert pairs_in(tmp_path, HEADER + CATALOGUE) == FOUND
    counts = open_po(
        tmp_path / "de.po", source="msgid", target="msgstr", cache=tmp_path / "cache"
    ).passed_over
    assert counts == {"other_state": 1, "not_translated": 1}
    turned = pairs_in(tmp_path, HEADER + CATALOGUE, source="msgstr", target="msgid")
    assert turned == [pair[::-1] for pair in FOUND]


def test_fuzzy_entries_are_read_where_they_are_asked_for(tmp_path):
    assert pairs_in(tmp_path, HEADER + CATALOGUE, states=("fuzzy",)) == [("two", "zwo")]
    assert len(pairs_in(tmp_path, HEADER + CATALOGUE, states=("fuzzy", "translated"))) == len(FOUND) + 1
    assert problem(tmp_path, CATALOGUE, states=("final",)).allowed == "translated or fuzzy"


def test_a_language_with_one_form_has_that_of_the_plural(tmp_path):
    content = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d fairu"\n'
    assert pairs_in(tmp_path, content) == [("%d files", "%d fairu")]


def test_the_charset_is_that_of_the_header(tmp_path):
    content = HEADER.replace("UTF-8", "ISO-8859-1") + 'msgid "a"\nmsgstr "ä"\n'
    assert pairs_in(tmp_path, content.encode("latin-1")) == [("a", "ä")]
    assert problem(tmp_path, content.replace("ISO-8859-1", "UTF-8").encode("latin-1")).where.endswith(
        "de.po:5"
    )
    assert problem(tmp_path, content.replace("ISO-8859-1", "klingon")).got == "klingon"
    assert pairs_in(tmp_path, content.replace("ISO-8859-1", "CHARSET")) == [("a", "ä")]


@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=6)] * 2), max_size=4))
def test_any_texts_come_back(tmp_path_factory, pairs):
    def quoted(text):
        named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
        return (
            '"' + "".join(named.get(each, each if each.isprintable() else octal(each)) for each in text) + '"'
        )

    def octal(character):
        return "".join(f"\\{byte:03o}" for byte in character.encode())

    content = HEADER + "".join(f"msgid {quoted(a)}\nmsgstr {quoted(b)}\n\n" for a, b in pairs if a)
    expected = [(a, b) for a, b in pairs if a and b.encode().strip()]
    assert pairs_in(tmp_path_factory.mktemp("po"), content) == expected


def test_a_line_that_is_none_of_it_is_named(tmp_path):
    found = problem(tmp_path, HEADER + 'msgid "a"\nmsgstr "b"\nnonsense\n')
    assert found.where.endswith("de.po:7")
    assert problem(tmp_path, '"no field before"\n').where.endswith("de.po:1")


def test_a_recipe_names_its_sides(tmp_path):
    (tmp_path / "de.po").write_text(HEADER + CATALOGUE)
    config = TrainCorpus(pairs="de.po", source="msgid", target="msgstr")
    corpus = open_corpus(config, root=tmp_path, cache=tmp_path / "cache")
    assert (len(corpus), corpus.pair(0)) == (4, FOUND[0])
    assert "msgid and msgstr" in problem(tmp_path, CATALOGUE, source="en").allowed
