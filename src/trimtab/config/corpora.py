"""The texts that a run reads: aligned files to train on and to be scored on, with their tags."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from pydantic import Field, model_validator

from trimtab.config.images import Rendering
from trimtab.config.settings import Settings, refused
from trimtab.metrics.metric import BleuTokenizer

Files = TypeVar("Files", bound="ParallelFiles")
Learn = Literal["all", "answers"]
FilesKey = Literal["text", "images", "boxes", "documents", "dataset", "pairs", "source"]


@dataclass(frozen=True, slots=True)
class FilesKind:
    """A way to name the files of a corpus, and what follows from it for the other keys."""

    key: FilesKey
    """The key that chooses it."""
    paths: tuple[str, ...]
    """The keys whose values are paths; they change when a corpus is moved, what the others say does not."""
    source_and_target: str = "paths"
    """What `source` and `target` name."""
    by_number: bool = False
    """Whether they may be numbers."""
    one_path: bool = False
    """Whether `source` and `target` are the same path as this key."""


KINDS = (
    FilesKind("text", ("text", "source", "target"), one_path=True),
    FilesKind("images", ("images", "source", "target"), one_path=True),
    FilesKind("boxes", ("boxes", "source", "target"), one_path=True),
    FilesKind("documents", ("documents",), "the name of a list of sentences"),
    FilesKind("dataset", ("dataset",), "the name of a column"),
    FilesKind("pairs", ("pairs",), "the name or the number of a column", by_number=True),
    FilesKind("source", ("source", "target")),
)
"""In this order: the last needs no key of its own. A new way to name files is a field and a line here."""
ONE_PATH = tuple(kind.key for kind in KINDS if kind.one_path)


class ParallelFiles(Settings):
    """Two aligned text files (plain, .gz, .xz or .zst), or pairs in one TSV, JSONL or Parquet file or in a dataset."""

    source: str | int
    """Path of the source text; with `pairs`, the column's name or number (counted from 1)."""
    target: str | int
    """Path of the target text; with `pairs`, the column's name or number (counted from 1)."""
    pairs: str | None = None
    """Path of a .tsv, .jsonl, .tmx, .xlf, .xliff or .po file (also .gz, .xz, .zst) or a .parquet file that holds both
    sides. In a TSV, column names refer to the first line; with column numbers there is no such line. In JSONL and
    Parquet, `translation.en` is a field inside another. In TMX and XLIFF, source and target are two language codes; in
    a .po file they are msgid and msgstr. Parquet needs `pip install "trimtab[arrow]"`."""
    states: tuple[str, ...] = ()
    """With a .xlf or .xliff file, the states that are read, such as `[translated, final]`; by default every unit with a
    target is. With a .po file, `translated` (the default) and `fuzzy`."""
    documents: str | None = None
    """Path of a .jsonl file (also .gz, .xz, .zst) with one document per line; `source` and `target` name its two lists
    of sentences, which have the same length; `doc.en` is a field inside another. Each sentence pair is an example, and
    the transform `context` adds the sentences before it."""
    dataset: str | None = None
    """Path of a folder that `save_to_disk` of Hugging Face `datasets` wrote; `source` and `target` name two text
    columns, with `translation.en` for a nested one. Needs `pip install "trimtab[arrow]"`."""
    split: str | None = None
    """With `dataset`, the split to read if there are several; with `boxes` in YOLO's form, the key of its data.yaml
    that names the images, `train` by default, and `val` in a validation set."""
    name: str = ""
    """Name of this corpus in the ledger and in reports; by default derived from the path."""
    factors: dict[str, str] = Field(default={})
    """Files with the source factors of this corpus, by the `name` of each in `data.source_factors`: `{pos: train.pos}`.
    Each has a line for each pair, and in it one value for each source word that white space separates."""
    factor_separator: str | None = None
    """In place of `factors`: each word of the source is followed by its factors, in their order, separated by this:
    `|` as in files of Marian, `￨` as in those of OpenNMT."""
    tags: tuple[str, ...] = ()
    """Symbols put before each source line, such as `<ui>`; each becomes one piece of the vocabulary."""
    direction: str = ""
    """With `model: {kind: modular}`, the direction of `model.directions` that its pairs are of, from `source` to
    `target`; of a validation set by default the one of the same name. Its tags are those of the direction unless it has
    its own."""

    @property
    def kind(self) -> FilesKind:
        """How its files are named."""
        return next(kind for kind in KINDS if getattr(self, kind.key, None) is not None)

    @property
    def is_one_path(self) -> bool:
        """Whether `source` and `target` are the same path as the key that names its kind."""
        return self.kind.one_path

    @property
    def paths(self) -> dict[str, str]:
        """Its files, or its folder, by their keys."""
        return {key: str(getattr(self, key)) for key in self.kind.paths}

    @property
    def files_beside(self) -> dict[str, str]:
        """Files that say something about its pairs, by their keys."""
        named = {key: getattr(self, key, None) for key in ("alignments", "image_folder")}
        beside = {key: path for key, path in named.items() if path is not None}
        return beside | {f"factors.{name}": path for name, path in self.factors.items()}

    def with_paths(self: Files, change: Callable[[str], str]) -> Files:
        """The same corpus at other paths."""
        paths = {**self.paths, **self.files_beside}
        update: dict[str, Any] = {key: change(path) for key, path in paths.items() if "." not in key}
        if self.factors:
            update["factors"] = {name: change(path) for name, path in self.factors.items()}
        drawn: Rendering | None = getattr(self, "render", None)
        if drawn is not None:
            update["render"] = drawn.model_copy(update={"fonts": tuple(map(change, drawn.fonts))})
        return self.model_copy(update=update)

    @property
    def reads(self) -> tuple[object, ...]:
        """What it reads: equal for two corpora that are the same pairs of the same files."""
        return (*dict.fromkeys(self.paths.values()), self.split, self.source, self.target, *self.states)

    @model_validator(mode="after")
    def _paths_or_columns(self) -> "ParallelFiles":
        kind, sides = self.kind, {"source": self.source, "target": self.target}
        if self.split is not None and self.dataset is None and kind.key != "boxes":
            raise ValueError("split: given without a `dataset`")
        if self.states and self.pairs is None:
            raise ValueError("states: given without a `pairs` file")
        others = [f"`{each.key}`" for each in KINDS[1:-1] if getattr(self, each.key, None) is not None]
        others = [other for other in others if other != f"`{kind.key}`"]
        if others and not self.is_one_path:
            raise ValueError(f"{kind.key}: given together with {' and '.join(others)}; leave one of them out")
        for side, value in sides.items():
            if isinstance(value, int) and kind.key == "source":
                raise ValueError(f"{side}: a number, which names a column, but there is no `pairs` file")
            if isinstance(value, int) and not kind.by_number:
                raise ValueError(f"{side}: a number; with `{kind.key}` it is {kind.source_and_target}")
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{side}: got column {value}; columns are counted from 1")
        written = {**sides, **self.paths, "split": self.split, **self.files_beside}
        if empty := [key for key, value in written.items() if value == ""]:
            raise ValueError(f"{empty[0]}: is empty")
        if (mark := self.factor_separator) is not None and (len(mark) != 1 or mark.isspace()):
            raise ValueError(f"factor_separator: got {mark!r}; allowed is one character, such as '|'")
        if self.factor_separator is not None and self.factors:
            raise ValueError("factor_separator: given together with `factors`; leave one of them out")
        if any(not is_tag(tag) for tag in self.tags):
            raise ValueError(
                f"tags: got {list(self.tags)!r}; a tag is one word without spaces, such as '<ui>'"
            )
        return self


class TrainCorpus(ParallelFiles):
    """A corpus to train on."""

    text: str | None = None
    """Path of a text in one language (plain, .gz, .xz or .zst), instead of `source` and `target`. For language models
    it holds documents: blocks between blank lines, or the field `text` of the objects in a .jsonl file, one per line.
    For translation, each line is both source and target, and the transform `denoise` corrupts the source, so that the
    model learns to write the language; give such a corpus a tag."""
    learn: Learn = "all"
    """What of a `text` counts in the loss: `all`, or, in conversations, the `answers` alone. A line of the .jsonl file
    then has `messages`, or `prompt` and `completion`, or Alpaca's `instruction`, `input` and `output`; the chat
    template of the pretrained tokenizer writes them out, each answer in a row of its own after the whole conversation
    up to it, and the symbol that ends it counts too."""
    images: str | None = None
    """Path of images of lines with their texts, for `task: recognition`: a folder, or a file that lists them. A .tsv
    or .txt file has a path, a tab and the text on each line, as the label files of PaddleOCR; a .jsonl file has objects
    with `image` and `text`; a .json file is docTR's `labels.json`. A folder holds such a file (`labels.tsv`,
    `labels.jsonl`, `labels.json` or `rec_gt_train.txt`), or beside each image its text in a file whose name ends with
    .gt.txt. Paths of images are relative to the folder of the list, or to `images/` in it."""
    render: Rendering | None = None
    """Draws the lines of `text` as images, for `task: recognition`: `{fonts: [/usr/share/fonts/truetype/dejavu]}`."""
    boxes: str | None = None
    """Path of boxes in images, for `task: detection`: a .json file in COCO's form, or in YOLO's a data.yaml, or a
    folder that holds one, or `images/`, `labels/` and perhaps `classes.txt`. Images that cannot be found are an error;
    boxes that are outside of their image, empty or of an unknown category are counted and named."""
    image_folder: str | None = None
    """With `boxes` in COCO's form, the folder that its file names start from; by default that of the .json file, or
    `images/` or a folder of the split's name beside it."""
    weight: float = Field(default=1.0, gt=0, le=1000)
    """Factor on the natural sampling rate of the corpus: 2 shows each line twice per epoch. Never changes the loss."""
    both_directions: bool = False
    """Also train from target to source, on the same files; `tags` and `reverse_tags` then select the direction."""
    reverse_tags: tuple[str, ...] = ()
    """Symbols put before each target line when it is the source: `tags: [<2de>], reverse_tags: [<2en>]`."""
    reverse_direction: str = ""
    """With `both_directions` and a `direction`, that of the pairs from `target` to `source`; by default the one whose
    name has the halves of `direction` exchanged, `de-en` for `en-de`, or its `source` and `target`."""
    alignments: str | None = None
    """Path of word alignments (plain, .gz, .xz or .zst) for `loss.guided_alignment`: a line for each pair, such as
    `0-0 1-2`, in the Pharaoh format that fast_align and eflomal write, for the words between white space."""

    @model_validator(mode="before")
    @classmethod
    def _text_on_both_sides(cls, value: Any) -> Any:
        return with_text_on_both_sides(value)

    @model_validator(mode="after")
    def _text_alone(self) -> "TrainCorpus":
        check_one_path(self)
        if self.alignments == "":
            raise ValueError("alignments: is empty")
        if self.text is not None and self.alignments is not None:
            raise ValueError("alignments: a `text` in one language has no pairs to align")
        if self.text is not None and self.both_directions:
            raise ValueError("both_directions: a `text` in one language has one direction only")
        return self

    @model_validator(mode="after")
    def _directions_differ(self) -> "TrainCorpus":
        if self.both_directions and self.tags == self.reverse_tags and not self.direction:
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}, the same as tags; with both_directions the model must "
                "know in which direction to translate, as in tags: ['<2de>'], reverse_tags: ['<2en>']; with a modular "
                "model, name the `direction`"
            )
        if self.reverse_tags and not self.both_directions:
            raise ValueError("reverse_tags: given, but both_directions is false")
        if any(not is_tag(tag) for tag in self.reverse_tags):
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}; a tag is one word without spaces, such as '<2en>'"
            )
        return self


class ValidFiles(ParallelFiles):
    """A validation set."""

    text: str | None = None
    """Path of documents in one language, instead of `source` and `target`, as in `data.train`; only for language
    models."""
    learn: Learn = "all"
    """What of a `text` counts in the loss, as in `data.train`."""
    images: str | None = None
    """Path of images of lines with their texts, as in `data.train`."""
    render: Rendering | None = None
    """Draws the lines of `text` as images, as in `data.train`; each line has one image, which stays the same."""
    boxes: str | None = None
    """Path of boxes in images, as in `data.train`."""
    image_folder: str | None = None
    """Where the images of `boxes` are, as in `data.train`."""
    bleu_tokenizer: BleuTokenizer = "13a"
    """How sacreBLEU splits words: languages without spaces need char, zh or ja-mecab."""

    @model_validator(mode="before")
    @classmethod
    def _text_on_both_sides(cls, value: Any) -> Any:
        return with_text_on_both_sides(value)

    @model_validator(mode="after")
    def _text_alone(self) -> "ValidFiles":
        check_one_path(self)
        return self


def with_text_on_both_sides(value: Any) -> Any:
    """The files with the path of a `text`, or of `images`, as source and target too."""
    if not isinstance(value, Mapping):
        return value
    given = dict(cast("Mapping[str, Any]", value))
    for key in ONE_PATH:
        path = given.get(key)
        if path == "":
            raise ValueError(f"{key}: is empty")
        if isinstance(path, str):
            return {"source": path, "target": path, **given}
    return given


def check_one_path(files: ParallelFiles) -> None:
    """Refuses other files beside a text, images or boxes, and a folder of images without boxes."""
    if getattr(files, "image_folder", None) is not None and getattr(files, "boxes", None) is None:
        raise ValueError("image_folder: given without `boxes`")
    given = (getattr(files, key, None) for key in ONE_PATH)
    path = next((each for each in given if each is not None), None)
    if path is None:
        return
    kind = files.kind.key
    others = [f"`{side}`" for side in ("source", "target") if getattr(files, side) != path]
    others += [
        f"`{each.key}`" for each in KINDS[:-1] if each.key != kind and getattr(files, each.key) is not None
    ]
    if others:
        raise refused(
            kind,
            "holds source and target, and other files are given as well",
            got=" and ".join(others),
            allowed=f"`{kind}` alone, or source and target without it",
            fix=f"leave {' and '.join(others)} out, or `{kind}`",
        )


def is_tag(text: str) -> bool:
    """Whether it is one word, also to sentencepiece, which writes a space as `▁`."""
    return text.split() == [text] and "▁" not in text
