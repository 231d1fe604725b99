from dataclasses import replace

from tests.checks.written import run_of, setting
from tests.for_each import for_each
from trimtab.checks.document import Document
from trimtab.checks.keytable import Key, KeyTable
from trimtab.checks.rules import c103_value_of_wrong_type, c104_number_read_as_text, c105_word_read_as_boolean


def run(types, value, parsed=None, raw="", **more):
    key = Key(name="x", types=types, **more)
    table = KeyTable(tool="llamafactory", version="1", source="s", keys={"x": key})
    told = setting("x", value, parsed=value if parsed is None else parsed, raw=raw)
    return run_of(tool="llamafactory", keys={"x": told}, table=table)


def wrong_type(*args, **more):
    return [each.finding.message for each in c103_value_of_wrong_type.check(run(*args, **more))]


@for_each(
    ("types", "value"),
    [
        (("boolean",), "false"), (("boolean",), "yes please"), (("number",), "much"), (("integer",), 1.5),
        (("integer",), [1]), (("list",), "a"), (("mapping",), ["a"]), (("text",), ["a"]), (("text",), {"a": 1}),
    ],
)  # fmt: skip
def test_another_type_than_the_tool_takes_is_told(types, value):
    assert len(wrong_type(types, value)) == 1


@for_each(
    ("types", "value"),
    [
        (("boolean",), True), (("boolean",), 0), (("number",), 3), (("integer",), 3.0), (("text",), "a"),
        (("text",), 3),
        (("list", "text"), "a"), (("any",), {"a": 1}), (("mapping",), {"a": 1}), (("number",), None), (("text",), None),
        (("number",), "1e-4"), (("text",), False),
    ],
)  # fmt: skip
def test_what_fits_and_what_other_rules_read_is_left_to_them(types, value):
    assert wrong_type(types, value) == []


def test_a_value_among_the_choices_fits_whatever_its_type():
    assert wrong_type(("boolean",), "auto", choices=(True, False, "auto")) == []


@for_each(("text", "number"), [("1e-4", 1e-4), ("5", 5), ("2E-05", 2e-5), ("1_000", 1000)])
def test_a_number_that_stays_a_text_is_told_with_the_number(text, number):
    (one,) = c104_number_read_as_text.check(run(("number",), text))
    assert one.edits[0].value == number


@for_each(
    ("types", "value"),
    [(("number",), 1e-4), (("text",), "1e-4"), (("number", "text"), "5"), (("number",), "nan")],
)
def test_numbers_and_texts_in_their_place_are_fine(types, value):
    assert list(c104_number_read_as_text.check(run(types, value))) == []


def test_a_concept_that_is_a_number_says_so_where_there_is_no_table():
    told = setting("lr", "1e-4")
    assert (
        len([*c104_number_read_as_text.check(run_of(keys={"lr": told}, concepts={"learning_rate": told}))])
        == 1
    )


@for_each(("raw", "value"), [("no", False), ("off", False), ("On", True), ("yes", True)])
def test_a_word_where_a_text_is_wanted_was_meant_as_a_word(raw, value):
    (one,) = c105_word_read_as_boolean.check(run(("text",), value, raw=raw))
    assert one.edits[0].value == raw


@for_each(
    ("types", "value", "raw"),
    [
        (("text",), False, "false"),
        (("boolean",), False, "no"),
        (("text", "boolean"), False, "no"),
        (("text",), "no", "no"),
    ],
)
def test_booleans_in_their_place_and_words_that_the_tool_mends_are_fine(types, value, raw):
    assert list(c105_word_read_as_boolean.check(run(types, value, parsed=False, raw=raw))) == []


def test_of_a_command_line_a_number_that_its_parser_refuses_is_of_the_wrong_type():
    typed = replace(run(("integer",), "0.1"), document=Document(path="a.sh", syntax="shell", text=""))
    (one,) = c103_value_of_wrong_type.check(typed)
    assert "a whole number" in one.finding.message
    assert list(c104_number_read_as_text.check(typed)) == []


def test_a_share_of_warmup_in_a_script_is_for_another_rule():
    key = Key(name="TrainingArguments.warmup_steps", types=("integer",))
    table = KeyTable(tool="transformers", version="1", source="s", keys={key.name: key})
    told = setting(key.name, 0.1, parsed=0.1)
    assert list(c103_value_of_wrong_type.check(run_of(keys={key.name: told}, table=table))) == []
