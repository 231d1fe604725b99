import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.shell import read_shell
from trimtab.checks.read.variables import see_through
from trimtab.checks.read.words import split


def rate(script):
    """What the last command is given as `--lr`."""
    return read_shell("run.sh", script).calls[-1].arguments["lr"].value


@for_each(
    ("before", "written", "value"),
    [
        ("LR=2e-5", "$LR", "2e-5"),
        ("LR=2e-5", "${LR}", "2e-5"),
        ("LR=2e-5", '"$LR"', "2e-5"),
        ("LR=2e-5", '"${LR}"', "2e-5"),
        ("LR=2e-5", "${LR:-1}", "2e-5"),
        ('LR="2e-5"', "$LR", "2e-5"),
        ("LR='2e-5'", "$LR", "2e-5"),
        ("export LR=2e-5", "$LR", "2e-5"),
        ("A=1 LR=2e-5", "$LR", "2e-5"),
        ("A=1; LR=2e-5", "$LR", "2e-5"),
        ("LR=${LR:-2e-5}", "$LR", "2e-5"),
        ("LR=${1:-2e-5}", "$LR", "2e-5"),
        ("LR=2", "${LR}e-5", "2e-5"),
        ("A=2\nB=5", "${A}e-$B", "2e-5"),
        ("", "${LR:-2e-5}", "2e-5"),
        ("", "${LR-2e-5}", "2e-5"),
    ],
)
def test_a_literal_that_is_given_once_is_seen_through(before, written, value):
    assert rate(f"#!/bin/bash\n{before}\npython train.py --lr {written} --other\n") == value


@for_each(
    "before",
    [
        "",
        "LR=1\nLR=2",
        "LR=1\nLR+=2",
        "LR=1\nread LR",
        "LR=1\nfor LR in 1 2; do :; done",
        "LR=1\nunset LR",
        "LR=1\nlet LR++",
        "LR=1\n((LR=2))",
        "LR=1\nprintf -v LR 3",
        "LR=1\nsource settings.sh",
        "LR=1\n. settings.sh",
        'LR=1\neval "$X"',
        "if [ -z $A ]; then\nLR=1\nfi",
        "if [ -z $A ]; then LR=1; fi",
        "for A in 1 2; do\nLR=1\ndone",
        "set_it() {\nLR=1\n}",
        '[ -z "$A" ] && LR=1',
        '[ -n "$A" ] || LR=1',
        "LR=1 python other.py",
        "LR=$(compute)",
        "LR=`compute`",
        "LR=$OTHER",
        "LR='1 --seed 2'",
        "LR=*",
        "LR=",
    ],
)
def test_what_may_be_another_value_stays_unknown(before):
    assert rate(f"{before}\npython train.py --lr $LR\n") is UNKNOWN


def test_a_variable_has_its_value_only_behind_the_assignment():
    assert rate("python train.py --lr $LR\nLR=1\n") is UNKNOWN


@pytest.mark.parametrize("written", ["'$LR'", "\\$LR"])
def test_a_quoted_sign_is_no_variable(written):
    assert rate(f"LR=1\npython train.py --lr {written}\n") == "$LR"


def test_a_default_does_not_speak_for_a_variable_that_something_sets():
    assert rate("if true; then\nLR=1\nfi\npython train.py --lr ${LR:-2}\n") is UNKNOWN
    assert rate("read LR\npython train.py --lr ${LR:-2}\n") is UNKNOWN


def test_the_place_is_where_the_variable_is_used():
    script = "LR=2e-5\npython train.py --lr $LR\n"
    entry = read_shell("run.sh", script).calls[-1].arguments["lr"]
    assert (entry.raw, entry.value_place.line, entry.value_place.column) == ("$LR", 2, 22)


def test_a_script_may_be_named_by_a_variable():
    call = read_shell("run.sh", "SCRIPT=train.py\npython $SCRIPT --lr 1\n").calls[-1]
    assert (call.name, call.qualifier) == ("train.py", "python")


@given(st.text("LR=$ab12{}:-'\"\\;\n \t&|()`", max_size=40))
def test_words_that_are_known_keep_their_text_and_all_keep_their_places(script):
    before = split(script).commands
    after = see_through(before, script)
    assert [len(words) for words in after] == [len(words) for words in before]
    for old, new in zip((w for c in before for w in c), (w for c in after for w in c), strict=True):
        assert (old.start, old.end, old.raw) == (new.start, new.end, new.raw)
        assert old.text is None or old.text == new.text
