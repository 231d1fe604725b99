from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.read.yaml import read_yaml
from trimtab.checks.rules.c105_word_read_as_boolean import check


def found(text):
    document = read_yaml("langs.yaml", text)
    return list(check(Description(tool="x", kind="x", document=document)))


def test_norwegian_in_a_list_of_languages_is_no_boolean():
    (one,) = found("langs: [en, no, de]\n")
    assert one.finding.message == "langs: no is read as false, not as the word"
    assert one.edits == (SetValue("langs", ["en", "no", "de"]),)
    (one,) = found("data:\n  a:\n    langs:\n      - 'en'\n      - NO\n")
    assert one.edits == (SetValue("data.a.langs", ["en", "NO"]),)


def test_lists_of_booleans_and_quoted_words_are_fine():
    assert found("flags: [no, yes, no]\n") == []
    assert found("langs: [en, 'no']\n") == []
    assert found("langs: [en, true]\n") == []
    assert found("mixed: [1, no]\n") == []
    assert found("- no\n- norway\n") == []
    assert found("no\n") == []
