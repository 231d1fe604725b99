"""The files of one run, each read once, with what stands beside it and which versions count there."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath

from trimtab.checks.description import Description, Version
from trimtab.checks.document import Document
from trimtab.checks.examine import examine_document, named_kind, recognise, syntax_for
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.read.arguments import settle
from trimtab.checks.read.decode import decode
from trimtab.checks.read.document import read_document
from trimtab.checks.read.limits import MAX_BYTES
from trimtab.checks.read.lines import Lines
from trimtab.checks.versions import Versions, own_versions
from trimtab.errors import InputError, input_error

STANDARD_INPUT = "-"
MAX_MODULE = 100_000
"""Bytes of a module beside a script from which on it is not followed."""
_SPEAKS_OF_TRAINING = re.compile(
    rb"learning_rate|batch_size|train_steps|max_steps|base_model|model_name_or_path|peft_type|zero_optimization"
    rb"|TrainingArguments"
)

_IS_FOR_OTHERS = re.compile(
    rb"^[ \t]*(?:- )?\{[{%#]"  # a line that a template takes away or makes again
    rb"|^[ \t]*(?:- )?[\w\"'.-]+[ \t]*:[ \t]*(?:\$?\{[{%]|\$\{|<%)"  # a value that it fills in, without quotes
    rb"|^[\w\"'-]*\{\{[^{}\n]*\}\}[\w\"'-]*[ \t]*:"  # a key
    rb"|^apiVersion:[ \t]",
    re.MULTILINE,
)


class Files:
    """Reads and describes files; `as_kind` where the user says what they are."""

    def __init__(self, *, as_kind: str | None = None, versions: Mapping[str, Version] | None = None) -> None:
        self.kind = None if as_kind is None else named_kind(as_kind)
        self._asked = versions or {}
        self._around: dict[str, Surroundings] = {}
        """By folder, so that what stands beside many files is read once."""
        self._read: dict[str, Document | InputError] = {}
        self._modules: dict[str, Lines | None] = {}

    def document(self, path: str) -> Document:
        """A file by its syntax; raises InputError, each time the same."""
        if path not in self._read:
            try:
                self._read[path] = self.parse(path, read_bytes(path))
            except InputError as error:
                self._read[path] = error
        known = self._read[path]
        if isinstance(known, InputError):
            raise known
        return known

    def release(self, path: str, *, keeps_calls: bool = True) -> None:
        """Releases what only rules need of a script: its flow and its unread calls, which hold its
        syntax tree, are many times as large as its text."""
        known = self._read.get(path)
        if not isinstance(known, Document) or known.syntax != "python":
            return
        if known.flow is not None:
            known.flow.release()
        calls = tuple(map(settle, known.calls)) if keeps_calls else ()
        self._read[path] = replace(known, flow=None, calls=calls)

    def parse(self, path: str, data: bytes) -> Document:
        """Bytes as if they stood in a file."""
        return read_document(
            path, data, syntax=syntax_for(path, self.kind), beside=lambda name: self._module(path, name)
        )

    def describe(self, document: Document) -> list[Description]:
        """The runs of a document; empty if it is no configuration that trimtab knows."""
        surroundings = self._surroundings(document.path)
        own = own_versions(document.text) if document.syntax == "python" else {}
        if own:
            surroundings = surroundings_of(document.path, asked={**own, **self._asked})
        return examine_document(document, kind=self.kind, surroundings=surroundings)

    def is_recognised(self, path: str) -> bool:
        """Whether it is known what a file is, by itself or because the user said it."""
        return self.kind is not None or recognise(self.document(path)) is not None

    def _module(self, path: str, name: str) -> Lines | None:
        """The file of a module beside a script, where it is small and has something that rules ask for."""
        from trimtab.checks.read.flow.follow import is_telling

        plain = name.removeprefix(".")
        if path == STANDARD_INPUT or not all(part.isidentifier() for part in plain.split(".")):
            return None
        file = os.path.join(os.path.dirname(path), *plain.split(".")) + ".py"
        if file not in self._modules:
            self._modules[file] = None
            if os.path.isfile(file) and os.path.getsize(file) <= MAX_MODULE:
                try:
                    text = decode(file, read_bytes(file))
                except InputError:
                    return None
                self._modules[file] = Lines(file, text) if is_telling(text) else None
        return self._modules[file]

    def _surroundings(self, path: str) -> Surroundings:
        folder = os.path.dirname(path)
        if folder not in self._around:
            self._around[folder] = surroundings_of(path, asked=self._asked)
        return self._around[folder]


def read_bytes(path: str) -> bytes:
    """What a file or standard input holds, one byte more than is allowed at most; raises InputError."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        got = error.strerror or str(error)
        raise input_error(
            f"{path}: cannot be read",
            got=f"a broken link to {os.readlink(path)}"
            if os.path.islink(path) and not os.path.exists(path)
            else got,
            allowed="a text file",
            fix="change its permissions, or name another file",
            where=path,
        ) from None


def speaks_of_training(path: str) -> bool:
    """Whether a file that nobody named and nobody can read is likely a configuration anyway; a template has to
    be filled in first, and a manifest of Kubernetes is for others."""
    try:
        data = read_bytes(path)
    except InputError:
        return False
    return _SPEAKS_OF_TRAINING.search(data) is not None and _IS_FOR_OTHERS.search(data) is None


def surroundings_of(path: str, *, asked: Mapping[str, Version] | None = None) -> Surroundings:
    """Of one file; `asked` are the versions of `--with`. Standard input (`-`) has the current folder around it."""
    folder = Path(path).parent if path != "-" else Path()
    return Surroundings(versions=Versions(folder, asked=asked or {}), beside=_beside(folder))


def _beside(folder: Path) -> Callable[[str], Document | None]:
    @cache
    def read(name: str) -> Document | None:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts or "\0" in name:
            return None
        try:
            file = folder / inside
            if not file.is_file() or file.stat().st_size > MAX_BYTES:
                return None
            return read_document(str(file), file.read_bytes())
        except (OSError, InputError):
            return None

    return read
