"""What a run reads: corpora, tokenizer, transforms, limits."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from trimtab.config.canvas import CanvasConfig
from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.config.images import CharsetConfig, ImageConfig
from trimtab.config.settings import Settings
from trimtab.config.source_factors import SourceFactor, file_names
from trimtab.config.tokenizer import SentencePieceTokenizer, Tokenizer
from trimtab.config.transforms import Transform
from trimtab.units import Duration


class Stage(Settings):
    """A part of the run with its own weights: for example, start with much crawled text and end with the target
    domain."""

    until: Duration | None = None
    """Where it ends, such as `2000 steps`, counted from the start of the run. The last stage has none and lasts until
    the end."""
    weights: dict[str, float] = Field(min_length=1)
    """Weights by the `name` of the corpus. 0 skips a corpus; one that is not named here keeps its `weight`. Only their
    proportions count: an epoch is as long in every stage as it is without stages."""

    @field_validator("until", mode="after")
    @classmethod
    def _in_steps(cls, value: Duration | None) -> Duration | None:
        # What is read at a step must follow from the step alone, for a run to continue where it was.
        if value is not None and (value.unit != "steps" or value.count < 1):
            raise ValueError(f"got {value}; allowed is a number of steps, such as '2000 steps'")
        return value

    @field_validator("weights", mode="after")
    @classmethod
    def _weights_in_range(cls, value: dict[str, float]) -> dict[str, float]:
        for name, weight in value.items():
            if not 0 <= weight <= 1000:
                raise ValueError(f"got {name}: {weight}; allowed is 0 to 1000")
        return value


class DataConfig(Settings):
    """What the run reads, and how text becomes ids."""

    root: str | None = None
    """Folder that relative paths below start from. It is itself relative to the recipe's folder, which is the
    default."""
    train: tuple[TrainCorpus, ...] = Field(min_length=1)
    """The corpora to train on."""
    temperature: float = Field(default=1.0, ge=1.0, le=1000)
    """Above 1, small corpora are sampled more often than their size suggests: shares are (weight · lines)^(1 /
    temperature), and the length of an epoch does not change. 5 is usual for many languages of very different size
    (arXiv 1907.05019)."""
    stages: tuple[Stage, ...] = ()
    """Different weights in different parts of the run: `[{until: 2000 steps, weights: {news: 0}}, {weights: {news:
    4}}]`."""
    valid: dict[str, ValidFiles] = Field(default={})
    """One validation set, or several by name."""
    tokenizer: Tokenizer = SentencePieceTokenizer.defaults()
    """How text becomes ids: on both sides, or on the target side only if `source_tokenizer` is set."""
    source_tokenizer: SentencePieceTokenizer | None = None
    """A separate vocabulary for the source, for languages in different scripts. Each tokenizer is then trained on the
    lines of its side, and tags are pieces of this one. By default both sides share `tokenizer`."""
    source_factors: tuple[SourceFactor, ...] = ()
    """What the model reads of each source word besides its pieces, for `task: translation`: `[{kind: case}]` how it is
    capitalised, `[{kind: file, name: pos}]` a value from files that are aligned word by word. The pieces of a word
    share its factors."""
    images: ImageConfig | None = None
    """Resizing and augmentation of images, for `task: recognition` and `task: diffusion`, which have defaults."""
    charset: CharsetConfig | None = None
    """The characters that the model can read, for `task: recognition`, which has defaults for it."""
    canvas: CanvasConfig | None = None
    """The size and augmentation of images for `task: detection`, which has defaults for it."""
    transforms: tuple[Transform, ...] = ()
    """Applied to each pair in this order while reading, before tokenization; `denoise` is applied after it."""
    max_tokens: int = Field(default=256, ge=2, le=65536)
    """Maximum length of a side in tokens, end symbol included; longer training pairs are dropped and counted. For
    language models, the maximum length of a row: longer documents are split, and nothing is dropped."""
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    """Seed of the order of examples and of all random choices in reading them; by default, the `seed` of the recipe.
    Runs with the same `data.seed` and different values of `seed` read the same data in the same order and start from
    different weights."""
    workers: int | Literal["auto"] = "auto"
    """Processes that read and tokenize; they change only the speed. With 0, the training process does it."""

    @model_validator(mode="after")
    def _factors_in_order(self) -> "DataConfig":
        # Behind a word, values are in the order of the recipe's factors, however a corpus names its files.
        names = file_names(self.source_factors)
        for files in (*self.train, *self.valid.values()):
            ordered = {
                name: files.factors[name] for name in (*names, *files.factors) if name in files.factors
            }
            files.factors.clear()
            files.factors.update(ordered)
        return self

    @property
    def factor_columns(self) -> int:
        """How many source factors are read from files, and so are written after each source word."""
        return len(file_names(self.source_factors))

    @field_validator("valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return {"valid": value} if is_one_set(value) else value

    @field_validator("transforms", mode="after")
    @classmethod
    def _protected_once(cls, value: tuple[Transform, ...]) -> tuple[Transform, ...]:
        if sum(each.kind == "protect" for each in value) > 1:
            raise ValueError("protect is given twice; put all patterns into one")
        return value

    @field_validator("source_factors", mode="after")
    @classmethod
    def _factors_once(cls, value: tuple[SourceFactor, ...]) -> tuple[SourceFactor, ...]:
        names = [each.name for each in value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} is given twice; a factor needs a name of its own")
        return value

    @field_validator("workers", mode="after")
    @classmethod
    def _not_negative(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 0 <= value <= 256:
            raise ValueError(f"got {value}; allowed is 0 to 256, or auto")
        return value

    @property
    def train_by_key(self) -> dict[str, TrainCorpus]:
        """The training corpora by their keys in the recipe, such as `data.train.0`."""
        return {f"data.train.{number}": corpus for number, corpus in enumerate(self.train)}

    @property
    def valid_by_key(self) -> dict[str, ValidFiles]:
        """The validation sets by their keys, such as `data.valid.news`; a single one may be without a name."""
        return {
            "data.valid" if name == "valid" else f"data.valid.{name}": files
            for name, files in self.valid.items()
        }

    @property
    def files_by_key(self) -> dict[str, TrainCorpus | ValidFiles]:
        """Both."""
        return {**self.train_by_key, **self.valid_by_key}


def is_one_set(value: Any) -> bool:
    """Whether `valid` is the files of one set, rather than several sets by name."""
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[str, Any]", value)
    if given.keys().isdisjoint({"source", "target", "pairs", "documents", "text", "images", "boxes"}):
        return False
    return not all(isinstance(part, Mapping | ParallelFiles) for part in given.values())
