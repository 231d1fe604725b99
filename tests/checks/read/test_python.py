import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN, Call, Document
from trimtab.checks.read.python import read_python
from trimtab.errors import InputError


def only(code: str, name: str = "T") -> Call:
    (found,) = (call for call in read_python("f.py", code).calls if call.name == name)
    return found


def told(code: str) -> dict[str, Any]:
    return {key: entry.value for key, entry in only(code).arguments.items()}


SCRIPT = """\
import torch
from transformers import TrainingArguments, AutoModelForCausalLM as Auto

LR = 2e-5  # chosen by hand
model = Auto.from_pretrained("gpt2", dtype=torch.bfloat16)
args = TrainingArguments(
    output_dir="out",
    learning_rate=LR,
    num_train_epochs=epochs(),
    **more,
)
"""


def test_a_script_is_its_calls_imports_and_comments():
    document = read_python("train.py", SCRIPT)
    assert [call.name for call in document.calls] == ["from_pretrained", "TrainingArguments", "epochs"]
    assert document.imports == {"torch", "transformers"}
    assert document.comments == ((4, "chosen by hand"),)
    assert (document.syntax, document.text) == ("python", SCRIPT)


def test_a_call_has_its_name_its_qualifier_and_its_arguments():
    model, args = read_python("train.py", SCRIPT).calls[:2]
    assert (model.qualifier, model.positional) == ("AutoModelForCausalLM", ("gpt2",))
    assert model.arguments["dtype"].value == "torch.bfloat16"
    assert [entry.value for entry in args.arguments.values()] == ["out", 2e-5, UNKNOWN]
    assert args.has_rest
    assert not model.has_rest


def test_an_argument_stands_where_it_is_written():
    entry = only("T(\n    é='ß', lr = 1e-4)").arguments["lr"]
    assert (entry.place.line, entry.place.column, entry.place.end_column) == (2, 12, 14)
    assert (entry.value_place.column, entry.value_place.end_column) == (17, 21)
    assert entry.raw == "1e-4"


@pytest.mark.parametrize("code", ["T(a=1)\rT(b=2)\r\nT(c=3)\n", "\x0cT(a=1)\n\x0cT(b=2)\n\nT(c=3)"])
def test_places_know_all_line_ends_and_form_feeds(code: str):
    calls = read_python("f.py", code).calls
    assert [call.name for call in calls] == ["T"] * 3
    assert [list(call.arguments) for call in calls] == [["a"], ["b"], ["c"]]


@for_each(
    ("code", "expected"),
    [
        ("T(**{'a': 1, 'b': x})", {"a": 1, "b": UNKNOWN}),
        ("T(**dict(a=1))", {"a": 1}),
        ("config = {'a': 1}\nT(**config, b=2)", {"a": 1, "b": 2}),
        ("config = {'a': 1}\nconfig['a'] = 2\nT(**config)", {}),
        ("config = {'a': 1}\nconfig.update(x)\nT(**config)", {}),
        ("config = {'a': 1}\nconfig = {'a': 2}\nT(**config)", {}),
        ("T(**{'a': 1, **x})", {}),
    ],
)
def test_mappings_that_are_literals_are_seen_through(code: str, expected: dict[str, Any]):
    assert told(code) == expected
    assert only(code).has_rest is not bool(expected)


def test_the_place_of_an_argument_from_a_mapping_is_its_key():
    entry = only("c = {\n  'lr': 1}\nT(**c)").arguments["lr"]
    assert (entry.place.line, entry.place.column) == (2, 3)


def test_what_is_set_on_the_result_later_is_unknown():
    code = "args = T(bf16=False, lr=1)\nif x:\n    args.bf16 = True\nargs.seed = 3"
    assert told(code) == {"bf16": UNKNOWN, "lr": 1, "seed": UNKNOWN}
    assert not only(code).has_rest
    assert only("args = T(lr=1)\nsetattr(args, name, 2)").has_rest


def test_positional_arguments_that_are_spread_hide_what_is_there():
    assert only("T(*values, 1)").has_rest
    assert only("T(*values, 1)").positional == (UNKNOWN, 1)


def test_methods_of_results_are_calls_without_a_qualifier():
    call = only("load().T(a=1)")
    assert (call.name, call.qualifier) == ("T", "")


def test_signs_inside_texts_are_no_comments():
    assert read_python("f.py", "a = '#x'  # y\nb = f'#{c}'\n'''\n# z\n'''\n# w").comments == (
        (1, "y"),
        (6, "w"),
    )


@for_each(
    ("code", "what", "where"),
    [
        ("def f(:\n  pass", "not Python", "f.py:1:7"),
        ("x = 1\n  y = 2", "unexpected indent", "f.py:2:"),
        ("print 'x'", "Missing parentheses", "f.py:1:1"),
        ("(" * 50_000, "nested", "f.py:1:201"),
        ("-" * 50_000 + "1", "nested too deeply", "f.py"),
        ("x = " + "+".join(["1"] * 30_000), "nested too deeply", "f.py"),
        ("x" + ".x" * 30_000, "nested too deeply", "f.py"),
        ("x = " + "9" * 5_000, "digits", "f.py"),
        ("'\\ud8", "not Python", "f.py:1"),
        ("#" * 500_001, "too long for a script", "f.py"),
    ],
)
def test_what_is_no_python_says_what_and_where(code: str, what: str, where: str):
    with pytest.raises(InputError) as caught:
        read_python("f.py", code)
    assert what in caught.value.problems[0].what
    assert caught.value.problems[0].where.startswith(where)


def test_only_so_many_calls_are_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trimtab.checks.read.python.MAX_CALLS", 5)
    assert len(read_python("f.py", "f()\n" * 9).calls) == 5


SCRAPS = [
    "f(",
    ")",
    "a=",
    "1",
    "'x'",
    ",",
    "**",
    "*",
    "{",
    "}",
    "[",
    "]",
    "x",
    "=",
    "\n",
    "\n  ",
    ":",
    "if x",
    "def f(",
]
SCRAPS += [
    "lambda ",
    "import x",
    "é",
    "#",
    "\\",
    '"',
    "\r",
    "\x0c",
    "class A:",
    "match x:",
    "for x in ",
    ":=",
    "@",
]


def outcome(code: str) -> Document | InputError:
    try:
        return read_python("f.py", code)
    except InputError as error:
        return error


@given(st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_is_a_document_or_a_message(code: str):
    found = outcome(code)
    assert isinstance(found, Document) or found.problems[0].where.startswith("f.py")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{2,8}", fullmatch=True), st.integers() | st.text(max_size=9), max_size=5
    )
)
def test_every_argument_is_found_where_it_stands(arguments: dict[str, Any]):
    lines = [f"    {key}0={value!r}," for key, value in arguments.items()]
    code = "\n".join(["T(", *lines, ")"])
    for line, entry in enumerate(only(code).arguments.values(), start=2):
        written = code.split("\n")[entry.place.line - 1]
        assert entry.place.line == line
        assert written[entry.place.column - 1 : entry.place.end_column - 1] == entry.key
        assert written[entry.value_place.column - 1 : entry.value_place.end_column - 1] == entry.raw


def test_a_script_of_another_python_is_refused_with_the_one_that_reads_it():
    with pytest.raises(InputError) as caught:
        read_python("f.py", "print 1\n")
    (problem,) = caught.value.problems
    assert problem.allowed == f"Python {sys.version_info[0]}.{sys.version_info[1]}, with which trimtab runs"
    assert "newer" in problem.fix


def test_names_that_imports_bring_are_told_with_their_packages():
    code = "from trl.trainer import SFTConfig as C\nfrom . import loop\nfrom .x import C\nimport peft\n"
    assert read_python("f.py", code).sources == {
        "SFTConfig": frozenset({"trl"}),
        "loop": frozenset({""}),
        "C": frozenset({""}),
    }
