import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.checks.document import UNKNOWN, Document
from trimtab.checks.read.notebook import read_notebook
from trimtab.errors import InputError


def notebook(*cells: str | list[str], indent: int | None = 1) -> str:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4}, indent=indent)


def lines_of(code: str) -> list[str]:
    return code.splitlines(keepends=True)


def test_cells_are_one_script_with_the_places_of_the_file():
    text = notebook(["import torch\n", "lr = 2e-5  # é\n"], lines_of('x = "a\\n"; T(rate=lr,\n  q="\\"ß")'))
    document = read_notebook("f.ipynb", text)
    assert document.syntax == "python"
    assert document.text == text
    assert document.imports == {"torch"}
    (call,) = document.calls
    assert [entry.value for entry in call.arguments.values()] == [2e-5, '"ß']
    rows = text.split("\n")
    for key, entry in call.arguments.items():
        row = rows[entry.place.line - 1]
        assert row[entry.place.column - 1 : entry.place.end_column - 1] == key
        assert row[entry.value_place.column - 1 : entry.value_place.end_column - 1] in (
            "lr",
            '\\"\\\\\\"\\u00df\\"',
        )
    line, comment = document.comments[0]
    assert comment == "é"
    assert "2e-5" in rows[line - 1]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_cell_may_be_one_text(indent: int | None):
    text = notebook("a = 1\nT(b=a)\n", indent=indent)
    (call,) = read_notebook("f", text).calls
    place = call.arguments["b"].place
    assert text.split("\n")[place.line - 1][place.column - 1] == "b"
    assert call.arguments["b"].value == 1


def test_lines_of_ipython_are_left_out_and_commands_are_taken():
    code = "%pip install x\n!accelerate launch train.py --lr 1e-4 \\\n  --bf16 --seed {seed}\n"
    code += "if x:\n    !ls\nT(a=1)\nd = !pwd\nT?"
    document = read_notebook("f", notebook(lines_of(code)))
    assert [call.name for call in document.calls] == ["accelerate-launch", "train.py", "ls", "T"]
    arguments = document.calls[1].arguments
    assert {key: entry.value for key, entry in arguments.items()} == {
        "lr": "1e-4",
        "bf16": True,
        "seed": UNKNOWN,
    }
    rows = document.text.split("\n")
    place = arguments["bf16"].place
    assert rows[place.line - 1][place.column - 1 :].startswith("--bf16")


def test_a_percent_sign_that_is_python_stays():
    (call,) = read_notebook("f", notebook("x = (7\n% 4)\nT(a=x)")).calls
    assert call.arguments["a"].value == 3


@for_each(
    ("cell", "names"),
    [
        ("%%time\nT(a=1)", ["T"]),
        ("%%bash\npython train.py --lr 1", ["train.py"]),
        ("%%writefile train.py\nT(a=1)", []),
        ("%%html\n<b>", []),
    ],
)
def test_the_magic_of_a_cell_says_what_it_is(cell: str, names: list[str]):
    assert [call.name for call in read_notebook("f", notebook(cell)).calls] == names


def test_a_broken_cell_does_not_spoil_the_others():
    document = read_notebook("f", notebook("T(a=", "T(b=2)"))
    assert [list(call.arguments) for call in document.calls] == [["b"]]


def test_where_no_cell_is_python_the_first_is_told():
    text = notebook("T(a=", "x y z")
    with pytest.raises(InputError, match="no cell is Python; the first: not Python") as caught:
        read_notebook("f.ipynb", text)
    assert (
        text.split("\n")[int(caught.value.problems[0].where.split(":")[1]) - 1].strip().startswith('"source"')
    )


def test_a_notebook_without_code_has_no_calls():
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": ["T(a=1)"]}]})
    assert read_notebook("f", text).calls == ()
    assert read_notebook("f", '{"cells": []}').calls == ()


@for_each("text", ["{}", "[]", '{"cells": 5}', '{"worksheets": []}'])
def test_what_is_no_notebook_is_refused(text: str):
    with pytest.raises(InputError, match="not a notebook"):
        read_notebook("f.ipynb", text)


@for_each("text", ["", "{", '{"cells": [', "not json", "[" * 5_000])
def test_a_broken_file_is_refused_with_its_place(text: str):
    with pytest.raises(InputError) as caught:
        read_notebook("f.ipynb", text)
    assert caught.value.problems[0].where.startswith("f.ipynb:")


CELLS = st.recursive(
    st.none()
    | st.integers()
    | st.sampled_from(["code", "T(a=1)\n", "!x --y 1", "%%bash\nx", "é😀", "T(", "source"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cell_type", "source", "cells"]), inner, max_size=3)
    ),
    max_leaves=10,
)


def outcome(text: str) -> Document | InputError:
    try:
        return read_notebook("f.ipynb", text)
    except InputError as error:
        return error


@given(st.lists(CELLS | st.fixed_dictionaries({"cell_type": st.just("code"), "source": CELLS}), max_size=4))
def test_strange_notebooks_are_documents_or_messages(cells: list[Any]):
    found = outcome(json.dumps({"cells": cells}))
    assert isinstance(found, Document) or found.problems[0].where.startswith("f.ipynb")


@given(st.text(max_size=12), st.booleans())
def test_places_count_escapes(before: str, ascii_only: bool):
    source = f"x = {before!r}; T(a=1)"
    text = json.dumps({"cells": [{"cell_type": "code", "source": source}]}, ensure_ascii=ascii_only)
    place = read_notebook("f", text).calls[0].arguments["a"].value_place
    assert text[place.column - 1 : place.end_column - 1] == "1"
