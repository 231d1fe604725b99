import pytest

from trimtab.decode.glossary import Entry, Glossary, checked_glossary, holds, read_glossary, with_capital
from trimtab.errors import InputError


def found(glossary: dict[str, str], line: str) -> list[str]:
    return [each.source for each in checked_glossary(glossary).found_in(line)]


def test_terms_are_found_as_whole_words_only():
    glossary = {"ship": "Schiff", "e-mail": "E-Mail", "boat": "Boot"}
    assert found(glossary, "The ship, shipping; an e-mail (boat).") == ["ship", "e-mail", "boat"]
    assert found(glossary, "steamship e mail boats boat_1") == []
    assert found(glossary, "ship\u0301") == []  # the accent belongs to the word
    assert found(glossary, "") == []


def test_the_longest_term_wins_and_each_is_taken_once():
    glossary = {"rudder": "Ruder", "rudder blade": "Ruderblatt", "blade": "Klinge"}
    assert found(glossary, "a rudder  blade, a blade, a rudder and a blade") == [
        "rudder blade",
        "blade",
        "rudder",
    ]


def test_a_term_without_capitals_is_found_in_any_case_and_one_with_capitals_as_written():
    assert found({"ship": "Schiff", "IT": "EDV"}, "Ship SHIP it") == ["ship"]
    assert found({"IT": "EDV", "it": "es"}, "IT and It") == ["IT", "it"]


def test_scripts_without_spaces_have_terms_anywhere():
    assert found({"船": "ship", "カタカナ": "katakana"}, "大きな船とカタカナ語") == ["船", "カタカナ"]
    assert found({"ship": "船"}, "これはshipです") == ["ship"]


def test_lines_of_a_file_become_entries_and_one_source_may_have_several_lines():
    lines = ["ship\tSchiff", "", "car\tAuto\tWagen\t", " rudder \t Ruder ", "ship\tKahn"]
    glossary = read_glossary(lines, name="terms.tsv")
    assert list(glossary.entries.values()) == [
        Entry("ship", ("Schiff", "Kahn")),
        Entry("car", ("Auto", "Wagen")),
        Entry("rudder", ("Ruder",)),
    ]


def test_all_wrong_lines_are_reported_together():
    lines = ["ship Schiff", "ship\tSchiff", "\tSchiff", "ship\t", "ship\t\tBoot", "a" + "\tb" * 17]
    with pytest.raises(InputError) as caught:
        read_glossary(lines, name="terms.tsv")
    text = str(caught.value)
    assert "terms.tsv: line 1 has no tab" in text
    assert "(terms.tsv:1)" in text
    assert text.count("has an empty field") == 3
    assert "line 6 has 17 translations" in text
    with pytest.raises(InputError, match="4 further lines") as caught:
        read_glossary(["x"] * 24, name="terms.tsv")
    assert len(caught.value.problems) == 21


def test_a_glossary_without_terms_is_refused():
    with pytest.raises(InputError, match="has no terms"):
        read_glossary(["", " "], name="terms.tsv")
    with pytest.raises(InputError, match="has no terms"):
        checked_glossary({})


@pytest.mark.parametrize("targets", [[], "", ["a", " "]])
def test_a_mapping_has_texts(targets):
    with pytest.raises(InputError, match="without a translation"):
        checked_glossary({"ship": targets})


def test_a_rewritten_glossary_drops_what_is_empty_then():
    glossary = Glossary([Entry("Ship", ("Schiff",)), Entry("!", ("!",))])
    changed = glossary.rewritten(lambda text: text.replace("!", "").lower())
    assert list(changed.entries.values()) == [Entry("ship", ("schiff",))]


def test_a_target_may_begin_a_sentence():
    assert with_capital("house") == ("house", "House")
    assert with_capital("Haus") == ("Haus",)
    assert with_capital("iPhone") == ("iPhone",)
    assert with_capital("42") == ("42",)


def test_a_text_holds_a_term_at_the_beginning_of_a_word():
    assert holds("(Ruder)", "Ruder")
    assert holds("Ruders", "Ruder")
    assert not holds("Bootsruder", "ruder")
    assert holds("Bootsruder ruder", "ruder")
    assert holds("大きな船", "船")


def test_terms_that_contradict_one_another_are_named_with_their_lines(caplog):
    lines = ["file\tDatei", "ship\tSchiff\tBoot", " file \tAkte", "ship\tSchiff\tBoot", "File\tMappe"]
    glossary = read_glossary(lines, name="terms.tsv")
    assert glossary.entries["file"].targets == ("Datei", "Akte")
    (told,) = caplog.messages
    assert told.startswith("terms.tsv: 'file' has different translations on lines 1, 3")
    assert told.endswith("Datei or Akte")


def test_of_many_contradictions_a_few_are_named_and_the_others_counted(caplog):
    read_glossary([f"{n % 5}\t{n}" for n in range(10)], name="t")
    assert len(caplog.messages) == 4
    assert caplog.messages[-1] == "t: so have 2 further terms"
