"""The texts that a run reads: aligned files to train on and to be scored on, with their tags."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused
from trimtab.metrics.metric import BleuTokenizer


class ParallelFiles(Settings):
    """Two aligned text files (plain, .gz, .xz or .zst), or pairs in one TSV, JSONL or Parquet file or in a dataset."""

    source: str | int
    """Path of the source text; with `pairs`, the column's name or number (counted from 1)."""
    target: str | int
    """Path of the target text; with `pairs`, the column's name or number (counted from 1)."""
    pairs: str | None = None
    """Path of a .tsv or .jsonl file (also .gz, .xz, .zst) or a .parquet file that holds both sides. Column names in a
    TSV are read from its first line; with column numbers it has no such line. Parquet needs
    `pip install "trimtab[arrow]"`."""
    documents: str | None = None
    """Path of a .jsonl file (also .gz, .xz, .zst) with a document a line; `source` and `target` name its two lists of
    sentences, equally long. Each sentence pair is an example, and the transform `context` knows those before it."""
    dataset: str | None = None
    """Path of a folder that `save_to_disk` of Hugging Face `datasets` wrote; `source` and `target` name two columns of
    text, `translation.en` one inside another. Needs `pip install "trimtab[arrow]"`."""
    split: str | None = None
    """With `dataset`, the split to read, where it has several."""
    name: str = ""
    """What the ledger and the reports call this corpus; by default made from the path."""
    tags: tuple[str, ...] = ()
    """Symbols put before each source line, such as `<ui>`; each becomes one piece of the vocabulary."""

    @model_validator(mode="after")
    def _paths_or_columns(self) -> "ParallelFiles":
        if self.dataset is not None or self.split is not None:
            self._check_dataset()
        elif self.documents is not None:
            self._check_documents()
        elif self.pairs is None:
            for side in ("source", "target"):
                if not isinstance(getattr(self, side), str):
                    raise ValueError(f"{side}: a number, which names a column, but there is no `pairs` file")
        else:
            for side in ("source", "target"):
                column = getattr(self, side)
                if isinstance(column, int) and column < 1:
                    raise ValueError(f"{side}: got column {column}; columns are counted from 1")
        named = ("source", "target", "pairs", "documents", "dataset", "split")
        empty = [key for key in named if getattr(self, key) == ""]
        if empty:
            raise ValueError(f"{empty[0]}: is empty")
        if any(not is_tag(tag) for tag in self.tags):
            raise ValueError(
                f"tags: got {list(self.tags)!r}; a tag is one word without spaces, such as '<ui>'"
            )
        return self

    def _check_dataset(self) -> None:
        if self.dataset is None:
            raise ValueError("split: written, but there is no `dataset`")
        if self.pairs is not None or self.documents is not None:
            raise ValueError("dataset: written together with `pairs` or `documents`; leave one of them out")
        for side in ("source", "target"):
            if not isinstance(getattr(self, side), str):
                raise ValueError(f"{side}: a number; with `dataset` it is the name of a column")

    def _check_documents(self) -> None:
        if self.pairs is not None:
            raise ValueError("documents: written together with `pairs`; leave one of them out")
        for side in ("source", "target"):
            if not isinstance(getattr(self, side), str):
                raise ValueError(f"{side}: a number; with `documents` it is the name of a list of sentences")


class TrainCorpus(ParallelFiles):
    """A corpus to train on."""

    text: str | None = None
    """Path of a text in one language (plain, .gz, .xz or .zst), in place of `source` and `target`. For language models
    it holds documents: blocks between blank lines, or the field `text` of the objects of a .jsonl file, one a line. For
    translation each line is both sides, and the transform `denoise` spoils the source, so that the model learns to
    write the language; give it a tag then."""
    weight: float = Field(default=1.0, gt=0, le=1000)
    """Times the corpus's natural sampling rate: 2 shows each line twice an epoch. Never touches the loss."""
    both_directions: bool = False
    """Train from target to source as well, on the same files; then `tags` and `reverse_tags` say which way."""
    reverse_tags: tuple[str, ...] = ()
    """Symbols put before each target line where it is read as a source: `tags: [<2de>], reverse_tags: [<2en>]`."""

    @model_validator(mode="before")
    @classmethod
    def _text_on_both_sides(cls, value: Any) -> Any:
        return with_text_on_both_sides(value)

    @model_validator(mode="after")
    def _text_alone(self) -> "TrainCorpus":
        check_text_alone(self, self.text)
        if self.text is not None and self.both_directions:
            raise ValueError("both_directions: a `text` in one language has one direction only")
        return self

    @model_validator(mode="after")
    def _directions_told_apart(self) -> "TrainCorpus":
        if self.both_directions and self.tags == self.reverse_tags:
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}, the same as tags; with both_directions the model must "
                "be told which way to translate, as in tags: ['<2de>'], reverse_tags: ['<2en>']"
            )
        if self.reverse_tags and not self.both_directions:
            raise ValueError("reverse_tags: written, but both_directions is false")
        if any(not is_tag(tag) for tag in self.reverse_tags):
            raise ValueError(
                f"reverse_tags: got {list(self.reverse_tags)!r}; a tag is one word without spaces, such as '<2en>'"
            )
        return self


class ValidFiles(ParallelFiles):
    """A validation set."""

    text: str | None = None
    """Path of documents in one language, in place of `source` and `target`, as `data.train` has them; for language
    models only."""
    bleu_tokenizer: BleuTokenizer = "13a"
    """How sacreBLEU cuts words: languages without spaces need char, zh or ja-mecab."""

    @model_validator(mode="before")
    @classmethod
    def _text_on_both_sides(cls, value: Any) -> Any:
        return with_text_on_both_sides(value)

    @model_validator(mode="after")
    def _text_alone(self) -> "ValidFiles":
        check_text_alone(self, self.text)
        return self


def with_text_on_both_sides(value: Any) -> Any:
    """The files with the path of a `text` as source and target too."""
    if not isinstance(value, Mapping):
        return value
    given = dict(cast("Mapping[str, Any]", value))
    text = given.get("text")
    if text == "":
        raise ValueError("text: is empty")
    return {"source": text, "target": text, **given} if isinstance(text, str) else given


def check_text_alone(files: ParallelFiles, text: str | None) -> None:
    """Refuses other files beside a text."""
    usual = {"source": text, "target": text, "pairs": None, "dataset": None}
    others = [f"`{key}`" for key, value in usual.items() if getattr(files, key) != value]
    if text is not None and others:
        raise refused(
            "text",
            "is source and target at once, and other files stand beside it",
            got=" and ".join(others),
            allowed="`text` alone, or source and target without it",
            fix=f"leave {' and '.join(others)} out, or `text`",
        )


def is_tag(text: str) -> bool:
    """Whether it is one word, also to sentencepiece, which writes a space as `▁`."""
    return text.split() == [text] and "▁" not in text
