from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN, Call, Document
from trimtab.checks.read.shell import read_shell
from trimtab.errors import InputError


def last(line: str) -> Call:
    return read_shell("f.sh", line).calls[-1]


def told(line: str) -> dict[str, Any]:
    return {key: entry.value for key, entry in last(line).arguments.items()}


@for_each(
    ("options", "expected"),
    [
        ("--learning_rate 2e-5", {"learning_rate": "2e-5"}),
        ("--learning-rate=2e-5", {"learning_rate": "2e-5"}),
        ("-learning_rate 2e-5", {"learning_rate": "2e-5"}),
        ("--bf16 --seed 1", {"bf16": True, "seed": "1"}),
        ("--betas 0.9 0.98", {"betas": ["0.9", "0.98"]}),
        ("--offset -1 --x -1e-3", {"offset": "-1", "x": "-1e-3"}),
        ("--name 'a b'", {"name": "a b"}),
        ("--name='a b'", {"name": "a b"}),
        ("--lr $LR --seed ${S}", {"lr": UNKNOWN, "seed": UNKNOWN}),
        ("--lr=$LR", {"lr": UNKNOWN}),
        ("--lr=${LR}e-5", {"lr": UNKNOWN}),
        ("lr=1e-5 +a.b=2 name='x y'", {"lr": "1e-5", "a.b": "2", "name": "x y"}),
        ("lr=$LR", {"lr": UNKNOWN}),
        ("--bf16 lr=1", {"bf16": True, "lr": "1"}),
        ("--a 1 --a 2", {"a": "2"}),
        ("--empty ''", {"empty": ""}),
        ("--x=", {"x": ""}),
        ("--a -- --b", {"a": True, "b": True}),
        ("--push --push°id x", {"push": True, "push°id": "x"}),
        ("--a '--b c'", {"a": "--b c"}),
    ],
)
def test_options_have_names_and_values(options: str, expected: dict[str, Any]):
    assert told(f"python train.py {options}") == expected


def test_dots_stand_for_options_that_are_left_out():
    call = last("python train.py --epochs 1 ... --seed 2 ... other args ...")
    assert {key: entry.value for key, entry in call.arguments.items()} == {"epochs": "1", "seed": "2"}
    assert call.has_rest
    assert not last("python train.py --epochs 1").has_rest


def test_words_without_options_are_positional():
    call = last("llamafactory-cli train $FILE lr=1")
    assert (call.name, call.positional, call.has_rest) == ("llamafactory-cli", ("train", UNKNOWN), True)
    assert not last("trl sft --lr 1").has_rest
    assert last('python train.py "${ARGS[@]}" --lr 1').has_rest


def test_a_launcher_and_its_script_are_two_calls():
    document = read_shell("f.sh", "accelerate launch --num_processes 4 \\\n  train.py --lr 1\n")
    assert [(call.name, call.qualifier) for call in document.calls] == [
        ("accelerate-launch", ""),
        ("train.py", "accelerate-launch"),
    ]
    assert [call.place.line for call in document.calls] == [1, 2]


def test_an_option_and_its_value_stand_where_they_are_written():
    entry = last("python x.py \\\n --lr  '1e-4'").arguments["lr"]
    assert (entry.place.line, entry.place.column, entry.place.end_column) == (2, 2, 6)
    assert (entry.value_place.column, entry.value_place.end_column) == (8, 14)
    assert entry.raw == "'1e-4'"
    inline = last("python x.py --lr=1e-4").arguments["lr"]
    assert (inline.place.end_column, inline.value_place.column, inline.raw) == (17, 18, "1e-4")


def test_comments_are_told_by_line():
    assert read_shell("f.sh", "#!/bin/bash\na # b\n").comments == ((1, "!/bin/bash"), (2, "b"))


def test_an_open_quote_is_refused_with_its_place():
    with pytest.raises(InputError, match="a quote is opened and not closed") as caught:
        read_shell("f.sh", "a\necho 'it\n")
    assert caught.value.problems[0].where == "f.sh:2:6"


def test_only_so_many_commands_are_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.shell.MAX_CALLS", 5)
    assert len(read_shell("f.sh", "a\n" * 9).calls) == 5


def outcome(text: str) -> Document | InputError:
    try:
        return read_shell("f.sh", text)
    except InputError as error:
        return error


@given(st.text(alphabet="ab '\"\\$`(){}<>|&;#\n\r=-+./py", max_size=40))
def test_any_text_is_a_document_or_a_message(text: str):
    found = outcome("python a.py " + text)
    if isinstance(found, InputError):
        assert found.problems[0].where.startswith("f.sh:")
        return
    for call in found.calls:
        assert set(map(type, call.positional)) <= {str, type(UNKNOWN)}


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), st.from_regex(r"[a-z0-9.]+", fullmatch=True)
    )
)
def test_every_option_is_read_back(options: dict[str, str]):
    assert told("python x.py " + " ".join(f"--{key} {value}" for key, value in options.items())) == options
