"""Errors that are not bugs: one base class; each has its exit code and a helpful message."""

import errno
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def one_line(text: str) -> str:
    """Text of others for a message, what cannot be seen in it as Python writes it.

    A line end in a file name could begin a line that a build service obeys; an escape code could rewrite a terminal.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


_ENDLESS = re.compile(r"[^\s/]{256,}")
"""No name of a file is that long, so paths are shown whole."""
_SHOWN_OF_A_WORD, _MOST_SHOWN = 60, 1000


def shortened(text: str) -> str:
    """Text of others for a message, without the middle of words, such as keys, that nobody would read to their end."""
    text = _ENDLESS.sub(lambda word: _without_middle(word.group(), _SHOWN_OF_A_WORD), text)
    return _without_middle(text, _MOST_SHOWN) if len(text) > _MOST_SHOWN else text


def _without_middle(text: str, length: int) -> str:
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[-end:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with what the user gave: what, got, allowed, fix, where."""

    what: str
    """What is wrong, one line, beginning with the key, file or option it concerns."""
    got: str = ""
    allowed: str = ""
    fix: str = ""
    where: str = ""
    """`path:line:column`, as far as known."""

    def __str__(self) -> str:
        what, where, got = (one_line(shortened(text)) for text in (self.what, self.where, self.got))
        parts = (("got", got), ("allowed", self.allowed), ("fix", shortened(self.fix)))
        head = f"{what}   ({where})" if where else what
        return "\n".join([head, *(f"  {name:<8}{text}" for name, text in parts if text)])


class TrimtabError(Exception):
    """Base of all errors that trimtab raises on purpose; `exit_code` is what the command line returns."""

    exit_code = 1


class InputError(TrimtabError):
    """The user's input is wrong; holds every problem found, not only the first. Exit code 2."""

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        assert problems
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> "tuple[type[InputError], tuple[Problem, ...]]":
        # Workers send it to the training process; by default it would be made again from its text.
        return type(self), self.problems


def input_error(what: str, *, got: str = "", allowed: str = "", fix: str = "", where: str = "") -> InputError:
    """An InputError of one problem."""
    return InputError(Problem(what=what, got=got, allowed=allowed, fix=fix, where=where))


def not_utf8(
    error: UnicodeDecodeError, *, name: str, line: int, offset: int, is_utf16: bool = False
) -> InputError:
    """An InputError for the bytes of a line that are no UTF-8: `line` from 1, `offset` of its first byte in the text.

    `error` is that of decoding the line; `is_utf16` says that the whole text looks like UTF-16.
    """
    raw, start = error.object, error.start
    bad = raw[start : max(error.end, start + 1)].hex(" ")
    first_zero = raw.find(0)
    by_zeros = _UTF16[(offset + first_zero) % 2] if first_zero >= 0 else ""
    encoding = "UTF-16" if is_utf16 else utf16_of(raw, offset=offset) or by_zeros or "WINDOWS-1252"
    fix = f"convert it, for instance with `iconv -f {encoding} -t UTF-8`, or correct that line"
    if is_binary(raw) and not (is_utf16 or utf16_of(raw, offset=offset)):
        fix = "name a text file: this one is binary; if it is compressed, decompress it first"
    return input_error(
        f"{name}: line {line} is not UTF-8",
        got=f"byte{'s' * (len(bad) > 2)} {bad} at byte {start} of the line, {offset + start} of the text, from 0",
        allowed="UTF-8 text",
        fix=fix,
        where=f"{name}:{line}:{len(raw[:start].decode('utf-8')) + 1}",
    )


_CONTROL = bytes(byte for byte in range(1, 32) if byte not in b"\t\n\r\x0b\x0c\x1a\x1b")
"""Control characters that no text has; NUL, which UTF-16 is full of, is not among them."""


def is_binary(raw: bytes) -> bool:
    """Whether bytes can't be text of a single-byte encoding: of their first thousand, more than one in a hundred is a
    control character."""
    head = raw[:1000]
    return len(head) - len(head.translate(None, _CONTROL)) > len(head) / 100


_UTF16 = ("UTF-16BE", "UTF-16LE")
"""By where the zero bytes of Latin letters stand: at even places of the text, or at odd ones."""


def utf16_of(raw: bytes, *, offset: int) -> str:
    """The kind of UTF-16 that bytes look like, which begin at `offset` of a text; empty if they do not: of every
    second byte most are zero, and of the others none is."""
    halves = raw[0::2], raw[1::2]
    for place, half in enumerate(halves):
        if half.count(0) >= max(2, len(half) / 2) and 0 not in halves[1 - place]:
            return _UTF16[(offset + place) % 2]
    return ""


def utf16_text(encoding: str, *, name: str, line: int) -> InputError:
    """An InputError for a line that is text in another encoding, though each of its bytes is UTF-8."""
    return input_error(
        f"{name}: line {line} looks like {encoding}",
        got="a zero byte (NUL) beside every letter",
        allowed="UTF-8 text",
        fix=f"convert it: `iconv -f {encoding} -t UTF-8`",
        where=f"{name}:{line}",
    )


_NOT_OF_A_FILE = frozenset({None, errno.ENOSPC, errno.EDQUOT, errno.EPIPE})
"""Other code reports a full disk and a closed pipe; an error without a number does not come from the system."""


LONGEST_LINE_BYTES = 1_000_000
"""A longer line of a text to translate or to score is refused: it is a file without line feeds, or no text."""


def line_too_long(name: str, *, line: int, got: str) -> InputError:
    """The error for a line, counted from 1, of more than `LONGEST_LINE_BYTES`."""
    return input_error(
        f"{name}: line {line} is too long",
        got=got,
        allowed=f"at most {LONGEST_LINE_BYTES:,} bytes a line",
        fix="give one sentence or paragraph a line; line feeds alone (\\n) end a line",
        where=f"{name}:{line}",
    )


@contextmanager
def reading(path: Path | str) -> Generator[None, None, None]:
    """Says what the operating system refuses inside the block, which reads `path` or what lies in it, as InputError."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_OF_A_FILE:
            raise
        raise unreadable(error, path) from None


def unreadable(error: OSError, path: Path | str) -> InputError:
    """An InputError for what the operating system does not let be read: `path`, or what lies in it."""
    from shlex import quote  # late: `trimtab check` of one file hardly ever needs it

    denied = isinstance(error, PermissionError)
    return input_error(
        f"{path}: cannot be read",
        got=error.strerror or str(error),
        allowed="a file that you may read" if denied else "a readable disk",
        fix=f"ask its owner for permission, run `chmod -R u+rX {quote(str(path))}` if it is yours, or name another"
        if denied
        else "check that the disk works, or name another",
        where=str(error.filename or path),
    )


_NO_MEMORY = (
    "DefaultCPUAllocator: ",
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "std::bad_alloc",
)
"""In RuntimeErrors of PyTorch, whose own OutOfMemoryError is for its allocator on a GPU alone."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of a GPU or of the host ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(each in str(error) for each in _NO_MEMORY)


def is_out_of_gpu_memory(error: BaseException) -> bool:
    """Whether memory of a GPU ran out rather than that of the machine."""
    said = f"{type(error).__name__}: {error}"
    return is_out_of_memory(error) and any(
        each in said for each in ("OutOfMemoryError", "CUDA", "CUBLAS", "CUDNN")
    )


def ran_out(error: BaseException) -> str:
    """What an error says of the memory that ran out, in one line."""
    return one_line((str(error).splitlines() or [type(error).__name__])[0])


class RunFailed(TrimtabError):
    """The run itself failed: a preflight error, a diverged run. Exit code 1."""


class NothingToResume(TrimtabError):
    """There are checkpoints but none is valid, or there is no run at all. Exit code 3."""

    exit_code = 3


class DiskFull(TrimtabError):
    """The disk is full; what was committed before is intact. Exit code 75."""

    exit_code = 75


class Terminated(TrimtabError):
    """SIGTERM arrived; the run stopped after a step and can be resumed. Exit code 143."""

    exit_code = 143


class Interrupted(Terminated):
    """The same after Ctrl-C. Exit code 130."""

    exit_code = 130


class StartAgain(Terminated):
    """SIGUSR1 arrived, as a batch system sends it before the time of a job is over; the run has saved and waits to be
    started again. Exit code 99."""

    exit_code = 99


class RankLost(TrimtabError):
    """Another process of the run died, hangs, or has failed; what was committed before is intact, and the run can be
    started again. Exit code 99."""

    exit_code = 99
