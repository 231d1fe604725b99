"""`convert`: another tool's configuration as a recipe, and what in it has no counterpart."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import cast

from trimtab.checks.conversion.adapter import refuse_adapter
from trimtab.checks.conversion.classification import is_classification, write_classification
from trimtab.checks.conversion.draft import Draft, plain, scalar
from trimtab.checks.conversion.language_model import write_language_model
from trimtab.checks.conversion.tasks import other_task
from trimtab.checks.conversion.translation import write_translation
from trimtab.checks.description import Description
from trimtab.checks.document import Document
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.registry import all_kinds, kinds_of
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.read.dialects import in_dialect
from trimtab.checks.record import record
from trimtab.checks.setting import Setting
from trimtab.checks.unrecognised import tool_not_read, what_is_there, what_may_be
from trimtab.errors import InputError, input_error

TITLES = {
    "opennmt": "OpenNMT-py",
    "eole": "Eole",
    "mammoth": "Mammoth",
    "marian": "Marian",
    "sockeye": "Sockeye",
    "fairseq": "fairseq",
    "axolotl": "Axolotl",
    "llamafactory": "LLaMA-Factory",
    "transformers": "transformers",
    "trl": "TRL",
}
OF_TRANSLATION = frozenset({"opennmt", "eole", "mammoth", "marian", "sockeye", "fairseq"})
NEEDED = ("learning_rate", "micro_batch", "steps", "epochs", "optimizer")
"""A file that says none of these is no training run."""
WIDTH = 110
PATH_KEYS = ("text", "source", "target", "pairs", "documents", "dataset", "alignments", "path", "warm_start")
"""Keys of a recipe that name files."""
FIELDS, HOLDS_BOTH = frozenset({"source", "target"}), frozenset({"pairs", "documents", "dataset"})
"""Keys that name fields of a file where one of the others names the file."""


@record(kw_only=True)
class Conversion:
    """A recipe made from another tool's file."""

    recipe_text: str
    """YAML with comments; it loads as it stands where `is_trainable`."""
    unmatched: tuple[Setting, ...]
    """What is written there and has no place in the recipe, in the order of the file."""
    notes: tuple[str, ...]
    """What differs, or has to be filled in; the text has these notes, too."""
    kind: str
    is_trainable: bool
    """Whether the recipe loads, and its task is one that can be trained today."""

    def __repr__(self) -> str:
        trains = "trainable" if self.is_trainable else "a draft to complete"
        left = f"{len(self.unmatched)} settings unmatched, {len(self.notes)} notes"
        return f"Conversion(of {self.kind}, {trains}, {left})"


def convert(source: Path | str | Document, *, kind: str = "", folder: Path | str | None = None) -> Conversion:
    """Turns a file, or a document that is read already, into a recipe; `kind` where its kind cannot be recognised.
    `folder` is where the recipe will be, by default that of the file: paths of files that are found from the working
    directory, or from the file, become relative to it.

    Raises `InputError` for what cannot be read or recognised, for files that are no training run, and for recipes.
    """
    document = source if isinstance(source, Document) else _read(Path(source))
    chosen = _kind_of(document, kind)
    if chosen.name == "recipe":
        raise input_error(
            f"{document.path}: already a trimtab recipe",
            allowed="a configuration of another tool",
            fix=f"train it: `trimtab train {quote(document.path)}`",
        )
    runs = chosen.describe(in_dialect(document, chosen.dialect), _surroundings(Path(document.path)))
    trained = [run for run in runs if _trains(run)]
    if len(trained) != 1:
        raise input_error(
            f"{document.path}: {'no run' if not trained else f'{len(trained)} runs'} that a recipe could be made of",
            got=chosen.title,
            allowed="a file that configures one training run",
            fix="name the file that trains" if not trained else "put each command into a file of its own",
        )
    if other := other_task(trained[0]):
        raise input_error(
            f"{document.path}: it {other}, and no recipe can say that",
            got=chosen.title,
            allowed="training of a translation model, a language model, or a text classifier",
            fix="keep it in its own tool; `trimtab check` looks at it there",
        )
    own = Path(document.path).parent
    return _converted(trained[0], chosen, folder=own if folder is None else Path(folder))


def _converted(run: Description, kind: Kind, *, folder: Path) -> Conversion:
    run, endless = _finite(run)
    draft = Draft(run, TITLES.get(run.tool, run.tool))
    for setting in endless:
        draft.note(
            f"{setting.key} is {setting.value}, which is not a finite number; the recipe uses the default"
        )
    is_translation = _is_translation(run)
    refuse_adapter(draft, title=draft.title)
    if is_classification(run):
        write_classification(draft)
    else:
        (write_translation if is_translation else write_language_model)(draft)
    moved = _moved(draft, folder)
    lines = [_with_paths(line, moved) for line in draft.lines]
    draft.notes[:] = [_with_paths(note, moved) for note in draft.notes]
    problems = _problems(lines, folder)
    for problem in problems:
        draft.note(f"the recipe does not load unchanged: {problem}")
    unmatched = draft.unmatched()
    head = Draft(run, draft.title)
    head.say(comment=f"Made by `trimtab convert` from {run.document.path} ({kind.title}).")
    for note in draft.notes:
        _say_wrapped(head, note)
    if unmatched:
        names = ", ".join(_with_stars([setting.key for setting in unmatched]))
        _say_wrapped(head, f"without a counterpart here: {names}")
    if others := draft.without_effect():
        _say_wrapped(
            head, f"left out, without an effect on what is learned: {', '.join(_with_stars([*others]))}"
        )
    head.say()
    return Conversion(
        recipe_text="\n".join([*head.lines, *lines]) + "\n",
        unmatched=unmatched,
        notes=tuple(draft.notes),
        kind=kind.name,
        is_trainable=not problems,
    )


def _finite(run: Description) -> tuple[Description, list[Setting]]:
    """The run without numbers that are infinite or none, and these."""
    endless = {
        each.key: each
        for each in (*run.keys.values(), *run.concepts.values())
        if isinstance(each.value, float) and not math.isfinite(each.value)
    }
    if not endless:
        return run, []
    kept = [
        {name: each for name, each in group.items() if each.key not in endless}
        for group in (run.keys, run.concepts)
    ]
    return replace(run, keys=kept[0], concepts=kept[1]), [*endless.values()]


def _with_stars(keys: list[str]) -> list[str]:
    """Keys of the same name in several groups as one: `tasks.*.weight`."""
    wholes = [
        (key.partition(".")[0], key.rpartition(".")[2]) if key.count(".") > 1 else (key, "") for key in keys
    ]
    told = [
        f"{whole[0]}.*.{whole[1]}" if wholes.count(whole) > 1 else key
        for key, whole in zip(keys, wholes, strict=True)
    ]
    return list(dict.fromkeys(told))


def _moved(draft: Draft, folder: Path) -> dict[str, str]:
    """Maps each path in the recipe that exists for the other tool to the path relative to the recipe's folder."""
    from trimtab.config.read_yaml import read_yaml

    tree = mapping(read_yaml("\n".join(draft.lines) + "\n", name="recipe").value)
    data, model = mapping(tree.get("data")), mapping(tree.get("model"))
    train, valid = data.get("train"), mapping(data.get("valid"))
    groups = [mapping(each) for each in (cast("list[object]", train) if isinstance(train, list) else [])]
    groups += [valid, *map(mapping, valid.values()), model]
    groups += [mapping(data.get(name)) for name in ("tokenizer", "source_tokenizer")]
    named = [
        group[key]
        for group in groups
        for key in PATH_KEYS
        if isinstance(group.get(key), str) and not (key in FIELDS and group.keys() & HOLDS_BOTH)
    ]
    moved: dict[str, str] = {}
    for path in named:
        bases = (Path(), Path(draft.run.document.path).parent)
        found = next((base / path for base in bases if (base / path).exists()), None)
        if found is not None and not Path(path).is_absolute():
            own = os.path.relpath(found.absolute(), folder.absolute())
            if os.path.normpath(path) != own:
                moved[path] = own
    return moved


def _with_paths(line: str, moved: Mapping[str, str]) -> str:
    """A line with the paths as they are from the recipe's folder, where keys have them."""
    for path, own in moved.items():
        keys = "|".join(PATH_KEYS)
        line = re.sub(rf"\b({keys}): {re.escape(scalar(path))}(?=[,}}\s]|$)", rf"\1: {scalar(own)}", line)
    return line


def _problems(lines: list[str], folder: Path) -> tuple[str, ...]:
    """What the recipe says of itself: values that are allowed there may not be allowed here."""
    from trimtab.config.load import parse_recipe

    try:
        parse_recipe("\n".join(lines) + "\n", path=folder / "recipe.yaml")
    except InputError as error:
        return tuple(
            f"{problem.what}, got {problem.got}" + (f"; to mend it, {problem.fix}" if problem.fix else "")
            for problem in error.problems
        )
    return ()


def _is_translation(run: Description) -> bool:
    task = run.value("task")
    if task is not None:
        return task in ("translation", "seq2seq")
    return run.tool in OF_TRANSLATION or run.value("encoder_decoder") is True


def _trains(run: Description) -> bool:
    return any(run.setting(concept) is not None for concept in NEEDED)


def _read(path: Path) -> Document:
    # Reading is only needed where no document is given.
    from trimtab.checks.read.document import read_document
    from trimtab.checks.read.limits import MAX_BYTES

    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise input_error(
            f"{path}: no such file",
            got="no file or folder at this path",
            allowed="a configuration of another tool",
            fix="check the path",
        ) from None
    except OSError as error:
        raise input_error(f"{path}: cannot be read", got=error.strerror or str(error)) from None
    return read_document(str(path), data)


def _kind_of(document: Document, name: str) -> Kind:
    if name:
        named = [kind for kind in all_kinds() if kind.name == name]
        if not named:
            raise input_error(
                f"--as {name}: no such kind", got=name, allowed=", ".join(kind.name for kind in all_kinds())
            )
        return named[0]
    found = [
        kind for kind in kinds_of(document.syntax) if kind.recognises(in_dialect(document, kind.dialect))
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise _of_nobody(document)
    raise input_error(
        f"{document.path}: whose configuration is it?",
        got=" or ".join(kind.title for kind in found),
        allowed=", ".join(kind.title for kind in found),
        fix="say it: `--as KIND`, where KIND is " + " or ".join(kind.name for kind in found),
    )


def _of_nobody(document: Document) -> InputError:
    if tool := tool_not_read(document):
        return input_error(
            f"{document.path}: of {tool}, which is not supported",
            got=what_is_there(document),
            allowed=what_may_be(document),
            fix="write the recipe by hand: `trimtab init` prints one to begin with",
        )
    return input_error(
        f"{document.path}: not a configuration of any known tool",
        got=what_is_there(document),
        allowed=what_may_be(document),
        fix="say it: `--as KIND`, where KIND is "
        + " or ".join(kind.name for kind in kinds_of(document.syntax) or all_kinds()),
    )


def _surroundings(path: Path) -> Surroundings:
    def beside(name: str) -> Document | None:
        try:
            return _read(path.parent / name)
        except InputError:
            return None

    return Surroundings(beside=beside)


def _say_wrapped(draft: Draft, text: str) -> None:
    from textwrap import wrap

    lines = wrap(plain(text), WIDTH - 4, break_on_hyphens=False)
    for index, line in enumerate(lines):
        draft.lines.append(f"# {'- ' if index == 0 else '  '}{line}")
