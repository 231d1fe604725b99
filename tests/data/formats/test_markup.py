import tracemalloc

import pytest

from trimtab.data.formats.markup import code_of, in_language, name_of, text_in, units
from trimtab.errors import InputError


def texts(path, unit="u"):
    def read(element):
        return text_in(element, native=frozenset({"ph"})) if name_of(element) == unit else None

    found = units(path, starts=lambda element: None, read=read, kind="a test")
    return (text for _, text in found)


def test_the_text_is_that_between_native_codes_in_any_namespace(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(
        '<x xmlns="urn:a" xmlns:b="urn:b"><u>one <ph>code<sub>flow</sub></ph>two<b:g> three<ph/>!</b:g> four</u>'
        '<u>a<cp hex="001B"/>b<cp hex="D800"/><cp hex="x"/></u></x>'
    )
    assert list(texts(path)) == ["one two three! four", "a\x1bb"]


def test_a_long_file_takes_the_memory_of_one_unit(tmp_path):
    path = tmp_path / "long.xml"

    def peak(count):
        path.write_text("<x><y>" + f"<u>{'word ' * 20}</u>\n" * count + "</y></x>")
        tracemalloc.start()
        assert sum(1 for _ in texts(path)) == count
        (_, most), _ = tracemalloc.get_traced_memory(), tracemalloc.stop()
        return most

    assert peak(4000) < 1.5 * peak(400)


def test_what_is_no_xml_is_said_with_its_place(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text("<x>\n<u>one</u>\n<u>two</v></x>")
    with pytest.raises(InputError, match="line 3 is not valid XML") as caught:
        list(texts(path))
    assert caught.value.problems[0].where == f"{path}:3:9"


def test_a_code_is_compared_without_case_and_stands_for_its_regions():
    assert code_of(" pt_BR ") == "pt-br"
    found = {"en-gb": ["lorry"], "en-us": ["truck"], "eng": ["x"]}
    assert in_language(found, "en") == ["lorry", "truck"]
    assert in_language({**found, "en": ["van"]}, "en") == ["van"]
    assert list(in_language(found, "de")) == []
