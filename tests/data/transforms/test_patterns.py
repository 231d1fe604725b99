import re

from tests.for_each import for_each
from trimtab.config.reserved import PROTECTED
from trimtab.data.transforms.patterns import pattern_of, symbol_pattern

ALL = ("url", "email", "tag", "placeholder", "number")


def found(text, *kinds, expressions=()):
    return [each.group() for each in pattern_of(kinds or ALL, expressions, symbols=16).finditer(text)]


@for_each(
    ("text", "values"),
    [
        ("See https://a.org/b?c=1#d, then www.e.com.", ["https://a.org/b?c=1#d", "www.e.com"]),
        ('"http://127.0.0.1:8631" (http://x.y/z)', ["http://127.0.0.1:8631", "http://x.y/z"]),
        ("siehe「https://a.jp/あ」。", ["https://a.jp/あ"]),
        ("http:// is a prefix", []),
    ],
)
def test_addresses_end_where_the_sentence_goes_on(text, values):
    assert found(text, "url") == values


def test_mail_addresses_are_found():
    assert found("Write to jo.doe+x@mail.example.org.", "email") == ["jo.doe+x@mail.example.org"]
    assert found("a@b and @me", "email") == []


def test_tags_and_entities_are_found_and_comparisons_are_not():
    text = '<a href="x">A</a> &amp; 3 < 4 and 5 > 2 <br/> &#160; <g id="1"/>'
    assert found(text, "tag") == ['<a href="x">', "</a>", "&amp;", "<br/>", "&#160;", '<g id="1"/>']


VALUES = (
    "%s %d %(name)s %1$s %5.1f %-3lu %@ %1 %PRODUCTNAME %APPDATA% "
    "{0} {name} {{name}} {0:.2f} {n,number} {} ${_OS} $(ARG1)"
)


@for_each("value", VALUES.split(" "))
def test_placeholders_of_programs_are_found(value):
    assert found(f"Open {value} now.", "placeholder") == [value]


@for_each("text", ["100% der Fälle", "50%d", "100%", "5 % fat", "{a b}", "{", "%%"])
def test_what_only_looks_like_a_placeholder_is_text(text):
    assert found(text, "placeholder") == []


def test_numbers_are_whole_and_stand_alone():
    assert found("3 of 12 files, 1,000.5 MB, v2, x86_64, 50%, 3-D, 2001-03-31, 7.", "number") == [
        "3",
        "12",
        "7",
    ]


def test_own_expressions_stand_beside_the_others():
    assert found("LibreOffice 7 runs", "number", expressions=("LibreOffice [0-9]",)) == ["LibreOffice 7"]


def test_text_spelled_like_a_symbol_is_always_found():
    assert found("<ph0> <ph15> <ph16>", "number") == ["<ph0>", "<ph15>"]
    assert symbol_pattern(2).findall("<ph0><ph1><ph2>") == [PROTECTED.format(0), PROTECTED.format(1)]


@for_each("unit", ["a", "a@", "<a ", "%", "{", "http://", "http://.", "&#", "www.", "1", "%(", "a.a@"])
def test_long_hostile_lines_are_read(unit):
    # A pattern that goes back over what it has read would not come to an end here.
    line = unit * 100_000
    assert "".join(re.split(pattern_of(ALL, (), symbols=16), line)) is not None
