"""A folder that an export wrote, ready to translate and to score: its own weights, run by the library it is for."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trimtab.checkpoint.telling import log_finding
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.input_file import open_input
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tags import check_tags, unlike_training
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.documents import DocumentCounts
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.device import choose_device
from trimtab.engines.engine import Engine
from trimtab.engines.hugging_face import open_hugging_face
from trimtab.errors import InputError, input_error
from trimtab.flow import Ragged
from trimtab.translator.load import LoadedModel, load_model
from trimtab.translator.setup import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS
from trimtab.translator.tagged import Tagged
from trimtab.translator.translator import Translator

CARD = Path("trimtab") / "export.json"
"""What makes a folder an export: which target it is for, and what belongs to it."""
RECIPE = Path("trimtab") / "trained.yaml"
"""The recipe of the run, the paths of its data shortened."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An export with what belongs to it; the counterpart of `LoadedModel`."""

    name: str
    recipe: Recipe
    engine: Engine
    tokenizers: Tokenizers

    @property
    def translates(self) -> Engine:
        """The model as decoding sees it."""
        return self.engine

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.engine.device

    def translator(self, *, search: Search, tags: tuple[str, ...] = ()) -> Translator:
        """Ready to translate; as that of a run."""
        self.look_at(tags)
        on_gpu = self.device.type == "cuda"
        setup = TranslationSetup(
            model=self.engine,
            tokenizer=Tagged(self.tokenizers, tags),
            device=self.device,
            normalise=str,
            max_tokens=self.recipe.data.max_tokens,
            search=search,
            batch_tokens=GPU_BATCH_TOKENS if on_gpu else CPU_BATCH_TOKENS * search.beam,
            encode_target=self.tokenizers.target.encode,
        )
        return Translator(setup, DocumentCounts())

    def look_at(self, tags: tuple[str, ...] | list[str]) -> None:
        """Logs a warning where no line of the training was tagged so; InputError for a tag that is none."""
        check_tags(tags, self.tokenizers.source)
        for finding in unlike_training(tags, self.recipe.data):
            log_finding(finding)

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[float]:
        """Summed log-probability of each row of target ids after its row of source ids."""
        return [sum(row) for row in self.engine.log_probabilities(source, target)]


def open_model(spec: str, *, device: str | None = None) -> LoadedModel | ExportedModel:
    """The model of a run or a checkpoint, or the exported one in a folder. Raises InputError where there is neither."""
    return (
        load_exported(Path(spec), device=device) if is_export(Path(spec)) else load_model(spec, device=device)
    )


def is_export(folder: Path) -> bool:
    """Whether a folder says that an export wrote it."""
    return (folder / CARD).is_file()


def load_exported(folder: Path, *, device: str | None = None) -> ExportedModel:
    """The exported model in a folder. Raises InputError where something of it is missing, damaged or too new."""
    card = _card(folder)
    tokenizers = _tokenizers(folder, card)
    recipe = load_recipe(folder / RECIPE).recipe
    place = choose_device(device)
    match card["target"]:
        case "hf":
            engine = open_hugging_face(folder, device=place)
        case other:
            raise _unknown(folder, got=f"an export for {other!r}")
    return ExportedModel(str(folder), recipe, engine, tokenizers)


def _card(folder: Path) -> dict[str, Any]:
    with open_input(folder / CARD) as file:
        try:
            card = json.loads(file.read())
        except ValueError as error:
            raise _unknown(folder, got=f"no valid JSON: {error}") from None
    known = isinstance(card, dict) and {"format", "target", "tokenizers"} <= card.keys()
    if not known or card["format"] != FORMAT:
        raise _unknown(folder, got=f"format {card.get('format')!r}" if known else "other keys")
    return card


def _tokenizers(folder: Path, card: dict[str, Any]) -> Tokenizers:
    found = []
    for said in card["tokenizers"]:
        with open_input(folder / said["file"]) as file:
            tokenizer = SentencePiece(file.read(), symbols=said["symbols"], name=str(folder / said["file"]))
        if tokenizer.fingerprint != said["sha256"]:
            raise input_error(
                f"{folder / said['file']}: not the tokenizer that was exported",
                got=f"sha256 {tokenizer.fingerprint[:16]}",
                allowed=f"{said['sha256'][:16]}, as {CARD} says",
                fix="put the file back, or export the run once more",
            )
        found.append(tokenizer)
    return Tokenizers(found[0], found[-1])


def _unknown(folder: Path, *, got: str) -> InputError:
    return input_error(
        f"{folder / CARD}: not what this version of trimtab writes",
        got=got,
        allowed=f"an export of format {FORMAT} for hf",
        fix="export the run once more",
    )
