"""What an export is made of: a trained model, a target that writes and opens its form, and what both sides can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.run import Recipe
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.continuing import Continues
from trimtab.errors import Problem
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import Model
from trimtab.types import DecoderSession, Ragged, Stream


@runtime_checkable
class Trained(Protocol):
    """A checkpoint's model in float32 on the CPU, with what belongs to it; `inference.LoadedModel` is one."""

    @property
    def recipe(self) -> Recipe:
        """The recipe of the run."""
        ...

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the weights come from."""
        ...

    @property
    def model(self) -> Model:
        """The model in evaluation mode."""
        ...

    @property
    def tokenizers(self) -> Tokenizers:
        """Those of both sides."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Put before each line: those of a direction of a modular model."""
        ...

    @property
    def tokenizer(self) -> AnyTokenizer:
        """The target's tokenizer, which is also the source's where they share one."""
        ...


def translator_of(trained: Trained) -> EncoderDecoder:
    """The model of a target that takes encoder-decoders alone; others are refused before anything is written."""
    assert isinstance(trained.model, EncoderDecoder), "other kinds have no source, or another shape"
    return trained.model


def decoder_of(trained: Trained) -> DecoderOnly:
    """The model of a target that takes decoders alone; others are refused before anything is written."""
    assert isinstance(trained.model, DecoderOnly), "other kinds do not go on from a text"
    return trained.model


def decoder_settings(recipe: Recipe) -> DecoderModel:
    """The settings of the model of such a target."""
    assert isinstance(recipe.model, DecoderModel), "other kinds are no language models"
    return recipe.model


@runtime_checkable
class Engine(Protocol):
    """An exported translator in its library: it opens decoding sessions (see `types.Translates`) and scores
    translations that exist already."""

    device: torch.device
    """Where it takes ids and gives scores."""

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> DecoderSession:
        """Encodes the source and makes room for `max_length` steps of `rows` × `width` hypotheses."""
        ...

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        ...


@runtime_checkable
class TextEngine(Continues, Protocol):
    """An exported language model in its library: it continues prompts; see `decode.continuing.Continues`."""

    device: torch.device
    """Where it takes ids and gives logits."""

    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The float32 logits after each token of each row."""
        ...


@runtime_checkable
class TranslatesLines(Protocol):
    """An exported translator as users of the library have it: its own tokenizer, its own search, its own text."""

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """The ids that the model reads for each line behind the tags."""
        ...

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids."""
        ...

    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best translation that the library's beam search finds for each row, without start and end symbol. None
        is longer than its limit, which counts the end symbol."""
        ...

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of target ids."""
        ...


@runtime_checkable
class ContinuesPrompts(Protocol):
    """An exported language model as users of the library have it."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, the start symbol first and no end symbol."""
        ...

    def logits(self, rows: Sequence[Sequence[int]]) -> list[Float[Tensor, "tokens vocabulary"]]:
        """The logits after each token of each row."""
        ...

    def continued(self, prompt: Sequence[int], *, limit: int) -> list[int]:
        """What the library writes greedily after a prompt: at most `limit` tokens, the end symbol included."""
        ...

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCard:
    """What a target adds to the model card."""

    library: str
    """What the hub calls the library."""
    usage: str
    """Python that uses the folder."""
    limits: tuple[str, ...]
    """Where the library may differ from the trainer, a sentence each."""
    class_name: str = ""
    """The library's class that computes a language model."""


@runtime_checkable
class Target(Protocol):
    """A library that models are exported for: a folder of this package, and a name in `config.export_targets`."""

    @property
    def name(self) -> str:
        """What `--to` calls it."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """The files that hold what was learned and how it is computed, the weights first; `trimtab/export.json` has
        their fingerprints."""
        ...

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that prevents the export, with what could be exported; raises InputError if the
        library is not installed."""
        ...

    def write(self, trained: Trained, folder: Path) -> None:
        """Writes weights, settings and tokenizer into an empty folder."""
        ...

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> Engine | TextEngine:
        """The library's model in a folder that an export wrote, on the device or, where none is named, on the one that
        fits. Nothing of the folder is executed; raises InputError if it holds anything that an export of this
        recipe does not write."""
        ...

    def as_users_open_it(self, folder: Path) -> TranslatesLines | ContinuesPrompts:
        """A draft opened by the library alone, on the CPU, for the proof."""
        ...

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """The target's part of the model card of the folder `name`, whose lines need the tags before them."""
        ...
