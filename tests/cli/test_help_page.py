from trimtab.cli.help_page import ARGUMENTS, OPTIONS, HelpPage, Row, first_sentence, grouped, render

PAGE = HelpPage(
    about="Do a thing.\n\nIt takes a\nwhile.",
    usage="trimtab do [OPTIONS] FILE...",
    sections={
        "Options": [Row("--out DIR", "Where it goes. " * 6), Row("--a-very-long-option VALUE|OTHER", "What.")]
    },
    examples=("trimtab do a.txt --out b",),
    ending="Exit code: 0.",
)


def test_a_page_has_its_sentence_usage_options_examples_and_ending_in_this_order():
    text = render(PAGE, width=60)
    order = [
        "Do a thing.\n",
        "It takes a while.\n",
        "Usage: trimtab do",
        "Options:\n",
        "  --out DIR  ",
        "Examples:\n",
        "Exit",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_lines_fit_the_terminal_and_a_long_name_has_its_meaning_below():
    lines = render(PAGE, width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[lines.index("  --a-very-long-option VALUE|OTHER") + 1].strip() == "What."


def test_titles_are_bold_only_where_asked():
    assert "\x1b[1mUsage:\x1b[0m" in render(PAGE, width=60, bold=True)
    assert "\x1b" not in render(PAGE, width=60)


def test_arguments_come_first_and_groups_of_their_own_last():
    rows = [("Search", Row("--beam", "")), (OPTIONS, Row("--out", "")), (ARGUMENTS, Row("RUN", ""))]
    assert [*grouped(rows)] == [ARGUMENTS, OPTIONS, "Search"]


def test_a_list_of_commands_shows_the_first_sentence_alone():
    assert first_sentence("Score it: BLEU. And\nmore.\n\nLater.") == "Score it: BLEU"
