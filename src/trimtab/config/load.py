"""A recipe file to a checked `Recipe`; every problem at once, each with its line and column."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trimtab.config.complaint import Complaint
from trimtab.config.consistency import contradictions
from trimtab.config.describe import shown
from trimtab.config.fitting import fitted
from trimtab.config.given_path import path_text
from trimtab.config.nearest import did_you_mean, nearest_words
from trimtab.config.new_rows import untrained_rows
from trimtab.config.overrides import apply_overrides
from trimtab.config.pretrained.fill import with_pretrained
from trimtab.config.problems import complaints_about
from trimtab.config.read_yaml import Position, read_yaml
from trimtab.config.run import Recipe
from trimtab.config.warm_start import with_start
from trimtab.errors import InputError, Problem, input_error, unreadable

FROM_DICT = "recipe.yaml"
"""What a recipe is called that is no file."""
NOTHING: Mapping[str, str] = MappingProxyType({})
MAX_BYTES = 1_000_000
"""A recipe is a page or two; a file beyond this is something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRecipe:
    """A recipe and where it came from."""

    recipe: Recipe
    path: Path
    folder: Path
    """Relative paths of the recipe start from here, `data.root` aside."""
    positions: Mapping[str, Position]
    """Dotted path, such as `data.train.0.weight`, to line and column in the file."""
    overridden: Mapping[str, str]
    """Dotted path to where it was overridden, such as `command line: seed=2`."""

    notes: tuple[str, ...] = ()
    """What nobody wrote and is not the usual default, since that does not fit the run; a line each."""

    text: str = ""
    """What is written in the file."""
    tree: Any = None
    """What is written in the file and on the command line, as plain values."""
    is_file: bool = True
    """Whether the recipe is written down in a file, where comments can be added; not where it came as a dict."""

    def __repr__(self) -> str:
        recipe, name = self.recipe, str(self.path) if self.is_file else "a dict"
        corpora = len(recipe.data.train)
        return f"LoadedRecipe({name!r}, {recipe.task}, {corpora} corpora, length {recipe.length})"

    def where(self, path: str) -> str:
        """`file:line:column` of a key, or of the nearest group around it that is written; or the override."""
        return _where(path, str(self.path), self.positions, self.overridden)


def load_recipe(
    path: Path | str | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    *,
    begun: Path | None = None,
    allow: Mapping[str, str] = NOTHING,
) -> LoadedRecipe:
    """Reads and checks a recipe file, with `KEY=VALUE` overrides; raises InputError with everything that is wrong.

    A recipe may also be a dict, whose relative paths start from the working directory; and overrides a dict by dotted
    key, such as `{"step.optimizer.learning_rate": 3e-4}`.
    `begun` is the folder of the run where the recipe is for one that resumes: what `model.warm_start` fills in is then
    what the run has. `allow` gives reasons to train in spite of rules of `trimtab check`, by their codes:
    `{"D106": "it learns to copy"}`. It is for dicts; a file has comments for that.
    """
    if isinstance(overrides, Mapping):
        overrides = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in overrides.items()]
    if isinstance(path, Mapping):  # JSON is YAML too
        text = "".join(_allowed(allow)) + json.dumps(path, indent=1, ensure_ascii=False)
        return replace(parse_recipe(text, overrides=overrides, begun=begun), is_file=False)
    if allow:
        raise input_error(
            "allow: only for a recipe that is a dict",
            got=str(path),
            allowed="`# trimtab: allow CODE because ...` beside the key in the file",
            fix="write the comment",
        )
    path = Path(path_text(path, name="recipe", allowed="a recipe, which is a YAML file, or a dict"))
    return parse_recipe(read_text_file(path), path=path, overrides=overrides, begun=begun)


def _allowed(allow: Mapping[str, str]) -> Iterator[str]:
    """The comments that a file would have."""
    for code, reason in allow.items():
        if not reason.strip() or not code.strip() or "\n" in code:
            raise input_error(
                "allow: not a reason for a code",
                got=f"{code!r}: {reason!r}",
                allowed="codes of `trimtab check`, each with a reason",
                fix='write `allow={"D106": "it learns to copy"}`',
            )
        yield f"# trimtab: allow {code.strip()} in this file because {' '.join(reason.split())}\n"


def parse_recipe(
    text: str,
    *,
    path: Path = Path(FROM_DICT),
    overrides: Sequence[str] = (),
    begun: Path | None = None,
) -> LoadedRecipe:
    """The same from a text; `path` is for messages and for the folder that relative paths start from.

    Raises InputError with everything that is wrong.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _too_large(path)
    read = read_yaml(text, name=str(path))
    value: Any = read.value
    if value is None:
        raise input_error("the recipe is empty", fix="create one with `trimtab init`", where=str(path))
    if not isinstance(value, Mapping):
        raise input_error(
            "not a recipe",
            got=shown(value),
            allowed="`key: value` lines",
            fix="create one with `trimtab init`",
            where=f"{path}:1:1",
        )
    tree, overridden = apply_overrides(value, tuple(overrides))
    filled = with_pretrained(tree, folder=path.absolute().parent, begun=begun)
    started = with_start(filled.tree, folder=path.absolute().parent, begun=begun)
    found = complaints_about(started.tree)
    # What a file of a pretrained model says may be sound, and contradict the recipe.
    from_files = filled.from_files if found else NOTHING
    recipe = None if found else Recipe.model_validate(started.tree)
    notes: tuple[str, ...] = ()
    if recipe is not None:
        recipe, notes = fitted(recipe)
        found = [*contradictions(recipe), *untrained_rows(recipe, folder=path.absolute().parent)]
    if recipe is None or found:
        own = [each for each in found if _origin(each, from_files) is None]
        raise InputError(*_of_files(found, from_files), *placed(own, str(path), read.positions, overridden))
    return LoadedRecipe(
        recipe=recipe,
        path=path,
        folder=path.absolute().parent,
        positions=read.positions,
        overridden=overridden,
        notes=(*filled.notes, *started.notes, *notes),
        text=text,
        tree=tree,
    )


def _origin(complaint: Complaint, from_files: Mapping[str, str]) -> str | None:
    """What a file of a pretrained model calls the key, where it filled it in."""
    return next(
        (
            name
            for key, name in from_files.items()
            if complaint.path == key or complaint.path.startswith(f"{key}.")
        ),
        None,
    )


def _of_files(found: list[Complaint], from_files: Mapping[str, str]) -> Iterator[Problem]:
    """The complaints about what no recipe has written."""
    for each in found:
        if (name := _origin(each, from_files)) is not None:
            yield Problem(
                what=f"{name}: {each.what}",
                got=each.got,
                allowed=each.allowed,
                fix="download the file again, or take another model: its weights have these sizes",
            )


def placed(
    found: list[Complaint], name: str, positions: Mapping[str, Position], overridden: Mapping[str, str]
) -> list[Problem]:
    """Problems in the order of the file."""

    def line(complaint: Complaint) -> Position:
        return _nearest(complaint.path, positions) or Position(0, 0)

    return [
        Problem(
            what=f"{complaint.path}: {complaint.what}" if complaint.path else complaint.what,
            got=complaint.got,
            allowed=complaint.allowed,
            fix=complaint.fix,
            where=_where(complaint.path, name, positions, overridden),
        )
        for complaint in sorted(found, key=line)
    ]


def _where(path: str, name: str, positions: Mapping[str, Position], overridden: Mapping[str, str]) -> str:
    for origin, text in reversed(list(overridden.items())):
        made_by_it = path not in positions and origin.startswith(path + ".")
        if path == origin or path.startswith(origin + ".") or made_by_it:
            return text
    position = _nearest(path, positions)
    return f"{name}:{position.line}:{position.column}" if position else name


def _nearest(path: str, positions: Mapping[str, Position]) -> Position | None:
    while path and path not in positions:
        path = path.rpartition(".")[0]
    return positions.get(path) if path else None


def read_text_file(path: Path, *, wanted: str = "recipe") -> str:
    """The text of a recipe, or of what else is `wanted`; raises InputError where the file holds none."""
    try:
        if path.is_dir():
            inside = path / "recipe.yaml"
            raise input_error(
                f"{path}: no {wanted}",
                got="a folder",
                allowed=f"a {wanted}, which is a YAML file",
                fix=did_you_mean([str(inside)] if inside.is_file() else _recipes_in(path)),
            )
        with path.open("rb") as file:
            data = file.read(len(BOM_UTF8) + MAX_BYTES + 1).removeprefix(BOM_UTF8)
    except FileNotFoundError:
        raise input_error(
            f"{path}: no such file",
            got="no file or folder at this path",
            allowed=f"a {wanted}, which is a YAML file",
            fix=_near_files(path),
        ) from None
    except OSError as error:
        raise unreadable(error, path) from None
    if len(data) > MAX_BYTES:
        raise _too_large(path, wanted)
    if b"\0" in data:
        raise input_error(f"{path}: not a text file", allowed=f"a {wanted}, which is YAML in UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise input_error(
            f"{path}: not UTF-8",
            got=f"the byte 0x{data[error.start]:02x}",
            fix="save it as UTF-8",
            where=f"{path}:{line}:1",
        ) from None


def _too_large(path: Path, wanted: str = "recipe") -> InputError:
    return input_error(
        f"{path}: too large for a {wanted}",
        got=f"more than {MAX_BYTES:,} bytes",
        allowed=f"at most {MAX_BYTES:,} bytes",
        fix="put data into separate files and name them",
        where=str(path),
    )


def _near_files(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist either"
    names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    near = nearest_words(path.name, names, cutoff=0.7)[:2] or nearest_words(
        path.stem, [Path(name).stem for name in names if name.endswith((".yaml", ".yml"))], cutoff=0.6
    )
    near = [name for name in names if name in near or Path(name).stem in near][:2]
    if near:
        return did_you_mean([str(folder / name) for name in near])
    return did_you_mean(_recipes_in(folder)) or "`trimtab init` writes a recipe to start from"


def _recipes_in(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("*.y*ml"))][:2]
