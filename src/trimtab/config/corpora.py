"""The texts that a run reads: aligned files to train on and to be scored on, with their tags."""

from pydantic import Field, model_validator

from trimtab.config.bleu import BleuTokenizer
from trimtab.config.settings import Settings


class ParallelFiles(Settings):
    """Two aligned text files (plain, .gz or .xz), or one TSV or JSONL file of pairs."""

    source: str | int
    """Path of the source text; with `pairs`, the column's name or number (counted from 1)."""
    target: str | int
    """Path of the target text; with `pairs`, the column's name or number (counted from 1)."""
    pairs: str | None = None
    """Path of a .tsv or .jsonl file (also .gz, .xz) that holds both sides. Column names in a TSV are read from its
    first line; with column numbers it has no such line."""
    name: str = ""
    """What the ledger and the reports call this corpus; by default made from the path."""
    tags: tuple[str, ...] = ()
    """Symbols put before each source line, such as `<ui>`; each becomes one piece of the vocabulary."""

    @model_validator(mode="after")
    def _paths_or_columns(self) -> "ParallelFiles":
        if self.pairs is None:
            for side in ("source", "target"):
                if not isinstance(getattr(self, side), str):
                    raise ValueError(f"{side}: a number, which names a column, but there is no `pairs` file")
        else:
            for side in ("source", "target"):
                column = getattr(self, side)
                if isinstance(column, int) and column < 1:
                    raise ValueError(f"{side}: got column {column}; columns are counted from 1")
        empty = [side for side in ("source", "target", "pairs") if getattr(self, side) == ""]
        if empty:
            raise ValueError(f"{empty[0]}: is empty")
        if any(not is_tag(tag) for tag in self.tags):
            raise ValueError(
                f"tags: got {list(self.tags)!r}; a tag is one word without spaces, such as '<ui>'"
            )
        return self


class TrainCorpus(ParallelFiles):
    """A corpus to train on."""

    weight: float = Field(default=1.0, gt=0, le=1000)
    """Times the corpus's natural sampling rate: 2 shows each line twice an epoch. Never touches the loss."""
    both_directions: bool = False
    """Train from target to source as well, on the same files; then `tags` and `reverse_tags` say which way."""
    reverse_tags: tuple[str, ...] = ()
    """Symbols put before each target line where it is read as a source: `tags: [<2de>], reverse_tags: [<2en>]`."""

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

    bleu_tokenizer: BleuTokenizer = "13a"
    """How sacreBLEU cuts words: languages without spaces need char, zh or ja-mecab."""


def is_tag(text: str) -> bool:
    """Whether it is one word, also to sentencepiece, which writes a space as `▁`."""
    return text.split() == [text] and "▁" not in text
