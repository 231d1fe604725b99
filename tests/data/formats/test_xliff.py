import gzip
import pickle
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.formats.test_tmx import TEXTS
from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpus
from trimtab.data.formats.xliff import open_xliff
from trimtab.errors import InputError


def version_1(body, *, languages='source-language="en" target-language="de"'):
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f'<file original="a" {languages} datatype="plaintext"><body>{body}</body></file></xliff>'
    )


def version_2(body, *, languages='srcLang="en" trgLang="de"'):
    return (
        f'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" {languages}>'
        f'<file id="f">{body}</file></xliff>'
    )


def pairs_in(folder, content, source="en", target="de", states=(), name="job.xlf"):
    path = folder / name
    data = content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    pairs = open_xliff(path, source=source, target=target, states=states, cache=folder / "cache")
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


UNITS_1 = (
    '<group><trans-unit id="1"><source>one</source><target state="final">eins</target></trans-unit></group>'
    '<trans-unit id="2" approved="yes"><source>two</source><target>zwei</target>'
    "<alt-trans><source>too</source><target>auch</target></alt-trans></trans-unit>"
    '<trans-unit id="3"><source>three</source><target state="needs-translation">three</target></trans-unit>'
    '<trans-unit id="4"><source>four</source></trans-unit>'
    '<trans-unit id="5"><source>five</source><target> </target></trans-unit>'
    '<trans-unit id="6" translate="no"><source>six</source><target>six</target></trans-unit>'
    '<trans-unit id="7"><source>seven</source><target>sieben</target></trans-unit>'
)
UNITS_2 = (
    '<group id="g"><unit id="1"><segment state="final"><source>one</source><target>eins</target></segment>'
    "<ignorable><source> </source><target> </target></ignorable>"
    '<segment state="translated"><source>two</source><target>zwei</target></segment></unit></group>'
    '<unit id="2"><segment><source>three</source><target>drei</target></segment></unit>'
    '<unit id="3"><segment><source>four</source></segment></unit>'
    '<unit id="4" translate="no"><segment><source>x</source><target>x</target></segment></unit>'
)


def test_translated_units_are_the_pairs_in_either_direction(tmp_path):
    found = [("one", "eins"), ("two", "zwei"), ("three", "three"), ("seven", "sieben")]
    assert pairs_in(tmp_path, version_1(UNITS_1)) == found
    assert pairs_in(tmp_path, version_1(UNITS_1), "de", "en") == [pair[::-1] for pair in found]
    assert pairs_in(tmp_path, version_2(UNITS_2)) == [("one", "eins"), ("two", "zwei"), ("three", "drei")]


def test_only_the_named_states_are_read(tmp_path):
    one, two = version_1(UNITS_1), version_2(UNITS_2)
    assert pairs_in(tmp_path, one, states=("final",)) == [("one", "eins")]
    assert pairs_in(tmp_path, one, states=("final", "approved")) == [("one", "eins"), ("two", "zwei")]
    assert pairs_in(tmp_path, one, states=("none",)) == [("seven", "sieben")]
    assert pairs_in(tmp_path, two, states=("translated", "final")) == [("one", "eins"), ("two", "zwei")]
    assert pairs_in(tmp_path, two, states=("initial",)) == [("three", "drei")]
    wrong = problem(tmp_path, two, states=("done",))
    assert (wrong.got, wrong.allowed) == ("done", "final, initial, translated")


def test_what_a_group_or_file_says_of_translation_counts_for_units_that_say_nothing(tmp_path):
    one = '<trans-unit id="{0}" {1}><source>{0}</source><target>t{0}</target></trans-unit>'
    two = '<unit id="{0}" {1}><segment><source>{0}</source><target>t{0}</target></segment></unit>'
    for unit, whole in ((one, version_1), (two, version_2)):
        body = (
            f'<group id="g" translate="no">{unit.format("a", "")}'
            f'<group id="h">{unit.format("b", "")}</group>{unit.format("c", TRANSLATED)}'
            f'<group id="i" {TRANSLATED}>{unit.format("d", "")}</group>{unit.format("e", "")}</group>'
            f"{unit.format('f', '')}"
        )
        assert [pair[0] for pair in pairs_in(tmp_path, whole(body))] == ["c", "d", "f"]
        kept = f'<group id="j" {TRANSLATED}>{unit.format("g", "")}</group>'
        closed = whole(body + kept).replace("<file ", '<file translate="no" ')
        assert [pair[0] for pair in pairs_in(tmp_path, closed)] == ["c", "d", "g"]


TRANSLATED = 'translate="yes"'


def test_units_that_are_no_pairs_are_counted(tmp_path):
    def passed_over(content, states=(), source="en"):
        (tmp_path / "job.xlf").write_text(content)
        named = {"source": source, "target": "de", "states": states, "cache": tmp_path / "cache"}
        counts = open_xliff(tmp_path / "job.xlf", **named).passed_over
        assert open_xliff(tmp_path / "job.xlf", **named).passed_over == counts
        return {reason: count for reason, count in counts.items() if count}

    assert passed_over(version_1(UNITS_1)) == {"not_translated": 2, "not_to_translate": 1}
    found = {"not_translated": 1, "not_to_translate": 1, "other_state": 2}
    assert passed_over(version_2(UNITS_2), states=("final",)) == found
    unit = '<trans-unit id="1"><source>a</source><target>b</target></trans-unit></body></file>'
    both = version_1(UNITS_1).replace(
        "</body></file>", f'</body></file><file source-language="fr" target-language="de"><body>{unit}'
    )
    assert passed_over(both, source="fr")["other_language"] == 4


def test_inline_tags_are_no_text(tmp_path):
    body = (
        '<trans-unit id="1"><source>Press <g id="1">the <x id="2"/>key</g><ph id="3">{0}<sub>s</sub></ph> now'
        '</source><target>Taste <bpt id="1">&lt;b&gt;</bpt>jetzt<ept id="1">&lt;/b&gt;</ept> '
        '<mrk mtype="term">drücken</mrk></target></trans-unit>'
    )
    assert pairs_in(tmp_path, version_1(body)) == [("Press the key now", "Taste jetzt drücken")]
    body = (
        '<unit id="1"><segment><source>a <pc id="1">b</pc> <ph id="2"/>c <sc id="3"/>d<ec startRef="3"/></source>'
        '<target>e<cp hex="0007"/> <mrk id="m" type="term">f</mrk></target></segment></unit>'
    )
    assert pairs_in(tmp_path, version_2(body)) == [("a b c d", "e\x07 f")]


def test_marked_segments_of_a_unit_are_pairs_of_their_own(tmp_path):
    body = (
        '<trans-unit id="1"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> '
        '<mrk mtype="seg" mid="2">Two.</mrk></seg-source><target><mrk mtype="seg" mid="2">Zwei.</mrk> '
        '<mrk mtype="seg" mid="1">Eins.</mrk></target></trans-unit>'
    )
    assert pairs_in(tmp_path, version_1(body)) == [("One.", "Eins."), ("Two.", "Zwei.")]


def test_languages_are_those_of_each_file_and_regions_count(tmp_path):
    unit = '<trans-unit id="1"><source>a</source><target>{}</target></trans-unit>'
    first = version_1(unit.format("b"), languages='source-language="en-US" target-language="de-AT"')
    second = (
        '<file source-language="en" target-language="fr"><body>' + unit.format("c") + "</body></file></xliff>"
    )
    both = first.replace("</xliff>", second)
    assert pairs_in(tmp_path, both) == [("a", "b")]
    assert pairs_in(tmp_path, both, "en", "fr") == [("a", "c")]
    assert problem(tmp_path, both, target="it").allowed == "de-at, en, en-us, fr"
    unnamed = version_1(unit.format("d"), languages='source-language="en"')
    assert pairs_in(tmp_path, unnamed, "en", "anything") == [("a", "d")]
    assert "language code" in problem(tmp_path, both, source=1).allowed


@settings(max_examples=15)
@given(st.lists(st.tuples(TEXTS, TEXTS.filter(str.strip)), min_size=1, max_size=4), st.booleans())
def test_any_texts_come_back(tmp_path_factory, pairs, is_second):
    write = version_2 if is_second else version_1
    wrap = "<unit><segment>{}</segment></unit>" if is_second else "<trans-unit>{}</trans-unit>"
    body = "".join(
        wrap.replace("{}", f"<source>{escape(left)}</source><target>{escape(right)}</target>")
        for left, right in pairs
    )
    assert pairs_in(tmp_path_factory.mktemp("x"), write(body), name="job.xliff.gz") == pairs


def test_a_recipe_names_file_languages_and_states(tmp_path):
    (tmp_path / "job.xliff").write_text(version_2(UNITS_2))
    config = {"pairs": "job.xliff", "source": "en", "target": "de"}

    def opened(**more):
        corpus = open_corpus(TrainCorpus(**config, **more), root=tmp_path, cache=tmp_path / "cache")
        return [corpus.pair(line) for line in range(len(corpus))]

    assert len(opened()) == 3
    assert opened(states=["final"]) == [("one", "eins")]
    (tmp_path / "p.tsv").write_text("en\tde\na\tb\n")
    config["pairs"] = "p.tsv"
    with pytest.raises(InputError, match="states: given, but the pairs") as caught:
        opened(states=["final"])
    assert ".xliff" in caught.value.problems[0].allowed
