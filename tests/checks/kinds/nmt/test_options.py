from tests.checks.kinds.describing import document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.nmt.options import as_saved, loose_words, written_options
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting


def options(line, table="fairseq", short=None):
    read = document("a.sh", line + "\n")
    return read.calls[0], read, load_table(table), short or {}


def test_a_switch_takes_no_word_and_another_option_one():
    given = options("fairseq-train --fp16 data --save-dir out more --lr 1")
    written = written_options(*given)
    assert (written.value("fp16"), written.value("save-dir")) == (True, "out")
    assert loose_words(*given) == ["data", "more"]


def test_names_are_as_they_are_spelled_and_short_ones_have_their_long_names():
    written = written_options(
        *options("marian --valid_sets a b -n1 -w 9000", "marian", {"n": "normalize", "w": "workspace"})
    )
    assert {name: setting.value for name, setting in written.settings.items()} == {
        "valid_sets": ["a", "b"], "normalize": 1, "workspace": 9000,
    }  # fmt: skip
    assert "valid-sets" in written.hidden


def test_a_beginning_of_a_name_stands_for_it_where_the_tool_takes_it():
    written = written_options(*options("sockeye-train --max-update 10", "sockeye"))
    assert written.value("max-updates") == 10


def test_what_an_older_name_says_counts_under_the_newest():
    written = written_options(*options("sockeye-train --checkpoint-frequency 500", "sockeye"))
    assert (written.value("checkpoint-interval"), written.get("checkpoint-interval").key) == (
        500,
        "checkpoint-frequency",
    )


def test_what_a_saved_file_has_by_itself_is_no_writing_of_a_person():
    table = load_table("sockeye")
    told = as_saved(
        {
            name: Setting(key=name, value=value, place=Place("a"))
            for name, value in (("seed", 1), ("batch-size", 9))
        },
        table,
    )
    assert (told["seed"].is_written, told["batch-size"].is_written) == (False, True)
