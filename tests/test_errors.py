import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.errors import (
    DiskFull,
    InputError,
    Interrupted,
    NothingToResume,
    Problem,
    RunFailed,
    Terminated,
    TrimtabError,
    input_error,
    not_utf8,
    one_line,
    reading,
    shortened,
    utf16_of,
    utf16_text,
)


def test_a_problem_says_what_where_got_allowed_and_fix_and_leaves_out_what_it_does_not_know():
    assert str(
        Problem(what="seed: wrong type", got="'x'", allowed="a number", fix="write 1", where="r.yaml:3:1")
    ) == ("seed: wrong type   (r.yaml:3:1)\n  got     'x'\n  allowed a number\n  fix     write 1")
    assert str(Problem(what="gone")) == "gone"


def test_an_input_error_holds_every_problem():
    error = InputError(Problem(what="a"), Problem(what="b", fix="c"))
    assert [problem.what for problem in error.problems] == ["a", "b"]
    assert str(error) == "a\nb\n  fix     c"
    assert input_error("a", got="1").problems == (Problem(what="a", got="1"),)


@for_each(
    ("error", "code"),
    [
        (InputError, 2),
        (RunFailed, 1),
        (NothingToResume, 3),
        (DiskFull, 75),
        (Terminated, 143),
        (Interrupted, 130),
        (TrimtabError, 1),
    ],
)
def test_exit_codes_are_those_of_the_command_line(error, code):
    assert error.exit_code == code
    assert issubclass(error, TrimtabError)


@given(st.text())
def test_text_of_others_takes_one_line_and_nothing_in_it_is_hidden(text):
    shown = one_line(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


def test_text_of_others_cannot_begin_a_line_of_its_own_in_a_problem():
    name = "a.yaml\n::error::\x1b[2J\u202e"
    problem = Problem(what=f"{name}: gone", got=name, where=name)
    assert str(problem).splitlines() == [
        r"a.yaml\n::error::\x1b[2J\u202e: gone   (a.yaml\n::error::\x1b[2J\u202e)",
        r"  got     a.yaml\n::error::\x1b[2J\u202e",
    ]


KEY = "k" * 100_000


@for_each("key", [KEY, f"data.{KEY}.source", "a b " * 25_000, f"'{KEY}'", f"/{KEY}/a"])
def test_text_of_others_without_end_is_shown_without_its_middle(key):
    problem = Problem(
        what=f"{key}: unknown key", got=f"{key}: 1", fix=f"did you mean `{key}x`?", where=f"{key}:1:2"
    )
    told = str(problem)
    assert len(told) < 5_000
    assert max(map(len, told.split())) < 150
    assert "…" in told
    assert told.splitlines()[0].count(": unknown key   (") == 1
    assert told.splitlines()[0].endswith(":1:2)")
    assert problem.got == f"{key}: 1", "whoever reads it by a program has it whole"


@given(st.text(max_size=1000))
def test_what_may_be_the_name_of_a_file_is_shown_whole(text):
    names = "/".join(name[:255] for name in text.split("/"))
    assert shortened(names) == names


@for_each("number", [errno.EACCES, errno.EIO, errno.ENOENT, errno.EISDIR, errno.ESTALE])
def test_what_the_system_does_not_let_be_read_is_the_users_to_mend(number):
    with pytest.raises(InputError) as caught, reading("runs/a"):
        raise OSError(number, os.strerror(number), "runs/a/x")
    (problem,) = caught.value.problems
    assert (problem.got, problem.where) == (os.strerror(number), "runs/a/x")
    assert problem.allowed
    assert ("chmod -R u+rX runs/a" in problem.fix) == (number == errno.EACCES)


@for_each(
    "error",
    [OSError(errno.ENOSPC, "full"), BrokenPipeError(errno.EPIPE, "gone"), OSError("odd"), ValueError()],
)
def test_what_is_no_refusal_to_read_passes(error):
    with pytest.raises(type(error)) as caught, reading("runs/a"):
        raise error
    assert caught.value is error


def test_bytes_that_are_no_utf8_are_told_with_their_place():
    with pytest.raises(UnicodeDecodeError) as raised:
        "zwölf Söhne".encode().replace("Sö".encode(), b"S\xf6").decode()
    (problem,) = not_utf8(raised.value, name="a.de", line=2, offset=5).problems
    assert problem.what == "a.de: line 2 is not UTF-8"
    assert problem.got == "byte f6 at byte 8 of the line, 13 of the text, from 0"
    assert problem.where == "a.de:2:8"
    assert "WINDOWS-1252" in problem.fix
    assert "UTF-16" in not_utf8(raised.value, name="a", line=1, offset=0, is_utf16=True).problems[0].fix


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("offset", [0, 6])
def test_utf_16_is_known_by_where_its_zero_bytes_stand(encoding, offset):
    name = encoding.upper().replace("-L", "L").replace("-B", "B")
    raw = "Grüße".encode(encoding)
    assert utf16_of(raw, offset=offset) == name
    assert utf16_of(raw[1:-1], offset=offset + 1) == name
    assert f"iconv -f {name} " in utf16_text(name, name="a", line=1).problems[0].fix
    with pytest.raises(UnicodeDecodeError) as raised:
        raw.decode()
    assert f"iconv -f {name} " in not_utf8(raised.value, name="a", line=1, offset=offset).problems[0].fix


@for_each("raw", [b"", b"a", b"a\0", b"the\0small ship", b"\0\0 a \0", b"\0\0\0\0"])
def test_a_few_zero_bytes_are_no_utf_16(raw):
    assert utf16_of(raw, offset=0) == ""
