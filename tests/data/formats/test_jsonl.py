import json

import pytest

from trimtab.data.formats.jsonl import open_jsonl
from trimtab.errors import InputError


def write(folder, *lines, source="en", target="de"):
    (folder / "pairs.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return open_jsonl(folder / "pairs.jsonl", source=source, target=target, cache=folder / "cache")


def problem_of(pairs, line=0):
    with pytest.raises(InputError) as caught:
        pairs.pair(line)
    (problem,) = caught.value.problems
    return problem


def test_fields_are_pairs_whatever_else_the_object_holds(tmp_path):
    pairs = write(
        tmp_path,
        '\ufeff{"de": "zwölf\\tSöhne", "en": "twelve", "more": [1, {}]}',
        json.dumps({"en": "smile 😀", "de": "a\nb"}),
    )
    assert len(pairs) == 2
    assert pairs.pair(0) == ("twelve", "zwölf\tSöhne")
    assert pairs.pair(1) == ("smile 😀", "a\nb")


@pytest.mark.parametrize(
    ("line", "what", "got", "column"),
    [
        ('{"en": "one", "de": eins}', "is not valid JSON", "Expecting value, at column 21", 21),
        ('{"en": "one"} {"de": "eins"}', "is not valid JSON", "Extra data, at column 15", 15),
        ("[" * 100_000, "is not valid JSON", "recursion", 1),
        ('["one", "eins"]', "is no JSON object", "an array", 1),
        ("null", "is no JSON object", "null", 1),
        ('{"en": "one"}', "has no field 'de'", "en", 1),
        ("{}", "has no field 'en'", "no fields", 1),
        ('{"en": 7, "de": "sieben"}', "has no text in the field 'en'", "a number", 1),
        ('{"en": true, "de": "wahr"}', "has no text in the field 'en'", "true or false", 1),
        ('{"en": null, "de": "nichts"}', "has no text in the field 'en'", "null", 1),
        ('{"en": {"a": 1}, "de": "x"}', "has no text in the field 'en'", "an object", 1),
        ('{"en": "half \\ud83d", "de": "halb"}', "has half a character in the field 'en'", "a lone", 1),
    ],
)
def test_a_bad_line_is_named_with_line_and_column(tmp_path, line, what, got, column):
    problem = problem_of(write(tmp_path, '{"en": "a", "de": "b"}', line), 1)
    assert problem.what == f"{tmp_path / 'pairs.jsonl'}: line 2 {what}"
    assert got in problem.got
    assert problem.where == f"{tmp_path / 'pairs.jsonl'}:2:{column}"


def test_a_missing_field_names_the_nearest(tmp_path):
    problem = problem_of(write(tmp_path, '{"id": 1, "source": "one", "target": "eins"}', source="sources"))
    assert problem.got.startswith("source")
    assert problem.fix == "did you mean source?"


def test_a_number_is_no_field(tmp_path):
    with pytest.raises(InputError, match="target: got the number 2"):
        write(tmp_path, "{}", target=2)


def test_the_fingerprint_tells_which_fields_are_read(tmp_path):
    line = '{"en": "one", "de": "eins"}'
    one = write(tmp_path, line).fingerprint
    assert one == write(tmp_path, line).fingerprint
    assert one != write(tmp_path, line, source="de", target="en").fingerprint


def test_a_number_of_any_length_in_another_field_is_no_matter(tmp_path):
    line = '{"id": ' + "9" * 10_000 + ', "en": "one", "de": "eins"}'
    assert write(tmp_path, line).pair(0) == ("one", "eins")
    problem = problem_of(write(tmp_path, '{"en": ' + "9" * 10_000 + ', "de": "eins"}'))
    assert (problem.what.partition(": ")[2], problem.got) == (
        "line 1 has no text in the field 'en'",
        "a number",
    )


def test_a_field_inside_another_is_named_by_a_path(tmp_path):
    line = '{"translation": {"en": "one", "de": "eins"}, "id": 1}'
    pairs = write(tmp_path, line, source="translation.en", target="translation.de")
    assert pairs.pair(0) == ("one", "eins")
    missing = problem_of(write(tmp_path, line, source="translation.en", target="translation.fr"))
    assert missing.got.split(", ")[0] in ("translation.en", "translation.de")
    assert "did you mean translation." in missing.fix
    whole = problem_of(write(tmp_path, line, source="translation", target="translation.de"))
    assert (whole.got, whole.fix) == ("an object", "name a field inside, such as translation.en")


def test_blank_lines_are_pairs_of_nothing_and_keep_the_numbers_of_the_others(tmp_path):
    pairs = write(tmp_path, '{"en": "a", "de": "b"}', "", " \t", '{"en": "c", "de": "d"}')
    assert list(pairs.several(range(4))) == [("a", "b"), ("", ""), ("", ""), ("c", "d")]
    assert pairs.place(3).endswith("pairs.jsonl:4")
