"""Which program a command starts: behind launchers (`accelerate launch`), wrappers (`nohup`) and `python -m`."""

import os.path
import re
from collections.abc import Sequence

from trimtab.checks.read.words import Word
from trimtab.checks.record import record

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELL_WORDS = frozenset(
    ("!", "{", "then", "do", "else", "elif", "if", "while", "until", "time", "exec", "command", "export")
)
_WRAPPERS = frozenset(
    (
        "nohup",
        "env",
        "sudo",
        "nice",
        "ionice",
        "numactl",
        "srun",
        "mpirun",
        "mpiexec",
        "uv",
        "poetry",
        "conda",
        "pdm",
        "pipenv",
        "rye",
        "hatch",
        "stdbuf",
        "timeout",
        "xvfb-run",
        "setsid",
        "taskset",
        "micromamba",
    )
)
_PYTHON = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_LAUNCHERS = frozenset(("torchrun", "deepspeed"))
_KNOWN = frozenset(
    (
        "accelerate",
        "llamafactory-cli",
        "axolotl",
        "trl",
        "eole",
        "trimtab",
        "mammoth_train",
        "mammoth_translate",
        "onmt_train",
        "onmt_translate",
        "onmt_build_vocab",
        "marian",
        "marian-decoder",
        "sockeye-train",
        "sockeye-prepare-data",
        "fairseq-train",
        "fairseq-hydra-train",
        "fairseq-preprocess",
    )
)
"""Programs that a wrapper may start."""
_TOOLS = re.compile(r"(?:marian|sockeye|fairseq)(?:-[a-z-]+)?")
"""Programs that are often in a folder that a variable holds: `$MARIAN/build/marian`."""
_HELD = re.compile(r"\$\{?(\w*(?:marian|sockeye|fairseq)\w*)\}?", re.IGNORECASE)
"""A variable that is a program of these."""
_FOUND = re.compile(r"\$\(\s*(?:which|command\s+-v)\s+([\w.-]+)\s*\)|`\s*which\s+([\w.-]+)\s*`")
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate-launch",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
_WITH_VALUE = frozenset(("-W", "-X"))
"""Python's own options that take a word."""
_MODULE_FLAGS = frozenset(("-m", "--module"))


@record
class Launch:
    """One program that a command starts."""

    name: str
    """The program, the script without folders, or the module; empty if a variable decides."""
    launcher: str
    """What starts it: `accelerate-launch`, `torchrun`, `deepspeed`, `python`; empty for a program of its own."""
    words: tuple[Word, ...]
    """The text after it."""
    start: int
    end: int


def launch(words: Sequence[Word]) -> list[Launch]:
    """The program of a command, before it the launcher that starts it; nothing where no program can be seen."""
    at = _program(words)
    name = _base(words[at]) if at < len(words) else ""
    return _started(name, words, at) if name else []


def _started(name: str, words: Sequence[Word], at: int) -> list[Launch]:
    rest = words[at + 1 :]
    if _PYTHON.fullmatch(name):
        return _python(words, at)
    if name in _LAUNCHERS:
        return _launched(name, words, at)
    if name == "accelerate" and rest and rest[0].text == "launch":
        return _launched("accelerate-launch", words, at + 1)
    if name.endswith(".py"):
        return [_last(name, "python", words, at)]
    return [_last(name, "", words, at)] if name else []


def _program(words: Sequence[Word]) -> int:
    """The index of the first word that is no assignment and no wrapper."""
    at = 0
    while at < len(words):
        word = words[at]
        written = word.raw if word.text is None else word.text
        if written in _WRAPPERS:
            inner = [i for i in range(at + 1, len(words)) if _is_known(words[i])]
            return inner[0] if inner else len(words)
        if not _ASSIGNMENT.match(written) and written not in _SHELL_WORDS:
            return at
        at += 1
    return at


def _is_known(word: Word) -> bool:
    name = _base(word)
    return bool(_PYTHON.fullmatch(name)) or name in _KNOWN or name in _LAUNCHERS or name.endswith(".py")


def _python(words: Sequence[Word], at: int) -> list[Launch]:
    index = at + 1
    while index < len(words):
        word = words[index]
        if word.text is None:
            return [_last(_base(word), "python", words, index)]
        if word.text == "-m" and index + 1 < len(words):
            return _module(words, index + 1)
        if word.text in ("-c", "-"):
            return []
        if not word.text.startswith("-"):
            return [_last(_base(word), "python", words, index)]
        index += 2 if word.text in _WITH_VALUE else 1
    return []


def _module(words: Sequence[Word], at: int) -> list[Launch]:
    module = words[at].text
    known = _MODULES.get(module or "")
    if known == "accelerate":
        return _started("accelerate", words, at)
    return _launched(known, words, at) if known else [_last(module or "", "python", words, at)]


def _launched(launcher: str, words: Sequence[Word], at: int) -> list[Launch]:
    index = _script(words, at + 1)
    own = tuple(words[at + 1 : index])
    is_module = bool(own) and own[-1].text in _MODULE_FLAGS
    end = own[-1].end if own else words[at].end
    found = [Launch(launcher, "", own[:-1] if is_module else own, words[0].start, end)]
    if index < len(words):
        name = words[index].text or "" if is_module else _base(words[index])
        found.append(_last(name, launcher, words, index))
    return found


def _script(words: Sequence[Word], at: int) -> int:
    """The index of the launched script: behind `-m`, or the first `.py`, or the first word that no option takes."""
    for index in range(at, len(words)):
        text = words[index].text or ""
        if text in _MODULE_FLAGS and index + 1 < len(words):
            return index + 1
        if text.endswith(".py") and not text.startswith("-"):
            return index
    index = at
    while index < len(words):
        written = words[index].raw
        if not written.startswith("-"):
            return index
        takes = "=" not in written and index + 1 < len(words) and not words[index + 1].raw.startswith("-")
        index += 2 if takes else 1
    return index


def _last(name: str, launcher: str, words: Sequence[Word], at: int) -> Launch:
    return Launch(name, launcher, tuple(words[at + 1 :]), words[at].start, words[-1].end)


def _base(word: Word) -> str:
    """The program's own name, also where a variable holds its folder; a variable's where it holds the program."""
    if word.text is not None:
        return os.path.basename(word.text.replace("\\", "/"))
    raw = word.raw.replace('"', "")
    if found := _FOUND.fullmatch(raw):
        return found[1] or found[2]
    name = os.path.basename(raw)
    if _TOOLS.fullmatch(name) or (name.endswith(".py") and "fairseq" in raw.lower()):
        return name
    held = _HELD.fullmatch(raw)
    return f"${held[1]}" if held else ""
