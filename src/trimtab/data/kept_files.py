"""The files that cleaning writes: the kept pairs in the form of their corpus, a table of what each reason dropped."""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, assert_never

from trimtab.config.corpora import TrainCorpus

_COMPRESSIONS = (".gz", ".xz", ".zst", ".zstd")
_LINE_ENDS = re.compile(r"\r\n|[\r\n]")
_NO_NAME = re.compile(r"[^\w.-]+")
_KEPT_KEYS = {
    "name",
    "direction",
    "tags",
    "weight",
    "both_directions",
    "reverse_tags",
    "reverse_direction",
    "learn",
}
"""Keys of `data.train` that are about the pairs, not about their files."""
DROPPED = "dropped"
"""The folder of the tables."""


class CorpusFiles:
    """The files of one corpus, in a folder of its own. Line ends inside a text become spaces."""

    def __init__(self, folder: Path, config: TrainCorpus) -> None:
        self._folder, self._config = folder, config
        self.names = kept_names(config)
        self._stack = ExitStack()
        self._kept: list[TextIOWrapper] = []
        self._tables: dict[str, TextIOWrapper] = {}
        self._document: tuple[str, list[tuple[str, str]]] = ("", [])

    def __enter__(self) -> "CorpusFiles":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._kept = [self._open(self._folder / name) for name in self.names]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if kind is None:
                self._end_document()

    @property
    def train_on(self) -> dict[str, str]:
        """What `data.train` says of a corpus that is read from the files: paths from within the folder, and fields."""
        match self._config.kind.key:
            case "text":
                return {"text": self.names[0]}
            case "documents":
                sides = {"source": str(self._config.source), "target": str(self._config.target)}
                return {"documents": self.names[0], **sides}
            case "source" | "pairs" | "dataset":
                return dict(zip(("source", "target", "alignments"), self.names, strict=False))
            case _:
                assert_never(self._config.kind.key)

    @property
    def settings(self) -> dict[str, Any]:
        """What else `data.train` says of the corpus, by its keys, where that is not the default."""
        return self._config.model_dump(mode="json", include=_KEPT_KEYS, exclude_defaults=True)

    def keep(self, place: str, pair: tuple[str, str], *, links: str | None = None) -> None:
        """Writes a pair, and the `links` between its words where the corpus has word alignments; pairs of a document
        share their place."""
        if self._config.kind.key == "documents":
            if place != self._document[0]:
                self._end_document()
                self._document = (place, [])
            self._document[1].append(pair)
            return
        for file, side in zip(self._kept, (*pair, *([] if links is None else [links])), strict=False):
            file.write(_LINE_ENDS.sub(" ", side) + "\n")

    def drop(self, reason: str, number: int, pair: tuple[str, str], *, raw: str | None = None) -> None:
        """Writes a pair with the number of its line, from 1, into the table of a reason; of a line that cannot be read,
        what is wrong and what was got instead of a pair, and the `raw` line."""
        table = self._tables.get(reason)
        if table is None:
            (self._folder / DROPPED).mkdir(exist_ok=True)
            table = self._tables[reason] = self._open(self._folder / DROPPED / f"{reason}.tsv")
            table.write("line\tsource\ttarget\n" if raw is None else "line\tproblem\tgot\ttext\n")
        cells = [_LINE_ENDS.sub(" ", side).replace("\t", " ") for side in pair]
        if raw is not None:
            cells.append(_LINE_ENDS.sub(" ", raw).replace("\t", "\\t"))  # the tab may be what is wrong
        table.write("\t".join([str(number), *cells]) + "\n")

    def _open(self, path: Path) -> TextIOWrapper:
        return self._stack.enter_context(path.open("x", encoding="utf-8", newline="\n"))

    def _end_document(self) -> None:
        _, pairs = self._document
        if pairs:
            sides = zip((self._config.source, self._config.target), zip(*pairs, strict=True), strict=True)
            self._kept[0].write(
                json.dumps({str(name): texts for name, texts in sides}, ensure_ascii=False) + "\n"
            )


def kept_names(config: TrainCorpus) -> tuple[str, ...]:
    """What the files of the kept pairs are called: as those of the corpus where each side has one, without compression,
    else by the columns of the one file; and the file of their word alignments, if they have one."""
    names = _names_of_pairs(config)
    if config.alignments is None:
        return names
    links = _bare(config.alignments)
    return (*names, links if links not in names else f"{links}.links")


def _names_of_pairs(config: TrainCorpus) -> tuple[str, ...]:
    match config.kind.key:
        case "text":
            return (_bare(config.text or ""),)
        case "documents":
            return (_bare(config.documents or ""),)
        case "source":
            names = (_bare(str(config.source)), _bare(str(config.target)))
            return names if names[0] != names[1] else (f"{names[0]}.source", f"{names[1]}.target")
        case "pairs" | "dataset":
            stem = PurePath(_bare(config.pairs or config.dataset or "")).stem
            sides = [_side(config.source, "source"), _side(config.target, "target")]
            sides = sides if sides[0] != sides[1] else ["source", "target"]
            return (f"{stem}.{sides[0]}", f"{stem}.{sides[1]}")
        case _:
            assert_never(config.kind.key)


def folder_names(names: Sequence[str]) -> list[str]:
    """A folder for each corpus, by its name; none where there is but one."""
    if len(names) == 1:
        return [""]
    made: list[str] = []
    for name in names:
        folder = first = _NO_NAME.sub("-", name).strip(".-") or "corpus"
        count = 1
        while folder in made:
            count += 1
            folder = f"{first}-{count}"
        made.append(folder)
    return made


def _side(column: str | int, other: str) -> str:
    """What of a column's name is fit for that of a file: `en` of `translation.en`."""
    name = _NO_NAME.sub("-", column.rpartition(".")[2]).strip(".-") if isinstance(column, str) else ""
    return name or other


def _bare(path: str) -> str:
    name = PurePath(path)
    return name.with_suffix("").name if name.suffix.lower() in _COMPRESSIONS else name.name
