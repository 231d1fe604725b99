"""A folder that an export wrote, ready to translate and to score: its own weights, run by the library it is for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trimtab.checkpoint.telling import log_finding
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.data.tags import check_tags, unlike_training
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.batches import GPU_BATCH_TOKENS
from trimtab.decode.documents import DocumentCounts
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.device import choose_device
from trimtab.engines.ctranslate2 import CTranslate2Model, open_ctranslate2
from trimtab.engines.ctranslate2_files import CONFIG as CTRANSLATE2_CONFIG
from trimtab.engines.ctranslate2_files import WEIGHTS as CTRANSLATE2_WEIGHTS
from trimtab.engines.ctranslate2_files import read_vocabularies
from trimtab.engines.engine import Engine
from trimtab.engines.hugging_face import HuggingFaceModel, check_finite, open_hugging_face
from trimtab.engines.hugging_face_files import WEIGHTS
from trimtab.engines.onnx_files import DECODER, ENCODER, SETTINGS
from trimtab.engines.onnx_files import WEIGHTS as ONNX_WEIGHTS
from trimtab.engines.onnx_runtime import OnnxModel, open_onnx
from trimtab.engines.plain_files import JSON_BYTES, plain_file
from trimtab.errors import InputError, input_error, reading
from trimtab.flow import Ragged
from trimtab.translator.export_card import (
    CARD,
    RECIPE,
    check_weights,
    read_card,
    read_tokenizers,
    unknown_card,
)
from trimtab.translator.load import LoadedModel, load_model
from trimtab.translator.setup import CPU_BATCH_TOKENS
from trimtab.translator.tagged import Tagged
from trimtab.translator.translator import Translator


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
        check_tags(tags, self.tokenizers.source, config=self.recipe.data)
        for finding in unlike_training(tags, self.recipe.data):
            log_finding(finding)

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[float]:
        """Summed log-probability of each row of target ids after its row of source ids."""
        return [sum(row) for row in self.engine.log_probabilities(source, target)]


def open_model(spec: str, *, device: str | None = None) -> LoadedModel | ExportedModel:
    """The model of a run or a checkpoint, or the exported one in a folder. Raises InputError where there is neither."""
    spec = path_text(spec, name="run", allowed=RUN)
    return (
        load_exported(Path(spec), device=device) if is_export(Path(spec)) else load_model(spec, device=device)
    )


def is_export(folder: Path) -> bool:
    """Whether a folder says that an export wrote it."""
    with reading(folder):
        return (folder / CARD).is_file()


def load_exported(folder: Path, *, device: str | None = None) -> ExportedModel:
    """The exported model in a folder. Raises InputError where something of it is missing, closed to this user, damaged
    or too new."""
    with reading(folder):
        return _loaded(folder, device=device)


def _loaded(folder: Path, *, device: str | None) -> ExportedModel:
    card = read_card(folder)
    tokenizers = read_tokenizers(folder, card)
    recipe = load_recipe(plain_file(folder, str(RECIPE), most=JSON_BYTES)).recipe
    if recipe.is_language_model:
        raise _goes_on(folder)
    place = choose_device(device)
    match card["target"]:
        case "hf":
            _check_named(folder, card, WEIGHTS)
            check_weights(folder, card)
            engine = open_hugging_face(folder, device=place, expected=_sizes(recipe, tokenizers))
            check_finite(folder, engine)
            _check_length(folder, recipe, engine)
        case "ctranslate2":
            _check_named(folder, card, CTRANSLATE2_WEIGHTS, CTRANSLATE2_CONFIG)
            check_weights(folder, card)
            engine = _open_ctranslate2(folder, recipe, tokenizers, device=place)
        case "onnx":
            _check_named(folder, card, ONNX_WEIGHTS, ENCODER, DECODER, SETTINGS)
            check_weights(folder, card)
            # Where no device is named, that for which the weights are.
            engine = _open_onnx(folder, recipe, tokenizers, device=None if device is None else place)
            _check_length(folder, recipe, engine)
        case other:
            raise unknown_card(folder, got=f"an export for {other!r}"[:80])
    return ExportedModel(str(folder), recipe, engine, tokenizers)


def _open_ctranslate2(
    folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device
) -> CTranslate2Model:
    model, target = recipe.model, tokenizers.target
    sizes = {
        "source_ids": tokenizers.source.num_ids,
        "target_ids": target.num_ids,
        "dim": model.dim,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
    }
    if any(not each.rotates for each in model.all_position_settings):
        sizes["positions"] = recipe.data.max_tokens
    never = sorted({target.pad, target.start, target.unknown} - {target.end})
    symbols = {
        "unk_token": target.piece(target.unknown),
        "bos_token": target.piece(target.start),
        "eos_token": target.piece(target.end),
        "decoder_start_token": target.piece(target.start),
    }
    for found, own in zip(read_vocabularies(folder), (tokenizers.source, target), strict=True):
        if found != [own.piece(id) for id in range(own.num_ids)]:
            raise unknown_card(folder, got="vocabularies with other pieces than the tokenizers have")
    return open_ctranslate2(folder, device=device, never=never, expected=sizes, symbols=symbols)


def _open_onnx(
    folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
) -> OnnxModel:
    side, target = recipe.model.decoder, tokenizers.target
    expected = {
        "layers": recipe.model.decoder_layers,
        "kv_heads": side.kv_heads or side.heads,
        "size": side.dim // side.heads,
        "num_ids": target.num_ids,
        **{name: getattr(target, name) for name in ("start", "end", "pad", "unknown")},
    }
    return open_onnx(folder, device=device, expected=expected)


def _check_named(folder: Path, card: dict[str, Any], name: str, *others: str) -> None:
    """The files whose fingerprints are taken must be those that are opened."""
    said = [each["file"] for each in card.get("others", [])]
    if others and said != list(others):
        raise unknown_card(folder, got=f"other files: {', '.join(said)}"[:200])
    if card["weights"]["file"] != name:
        raise unknown_card(folder, got=f"weights in {card['weights']['file']}")


def _sizes(recipe: Recipe, tokenizers: Tokenizers) -> dict[str, int]:
    """What `config.json` must say of this recipe and these vocabularies."""
    model, target = recipe.model, tokenizers.target
    sizes = {
        "d_model": model.dim,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        "encoder_attention_heads": model.encoder.heads,
        "decoder_attention_heads": model.decoder.heads,
        "encoder_ffn_dim": model.encoder.feed_forward,
        "decoder_ffn_dim": model.decoder.feed_forward,
        "vocab_size": tokenizers.source.num_ids,
        "pad_token_id": target.pad,
        "eos_token_id": target.end,
        "decoder_start_token_id": target.start,
    }
    return sizes if tokenizers.shared else {**sizes, "decoder_vocab_size": target.num_ids}


def _goes_on(folder: Path) -> InputError:
    return input_error(
        f"{folder}: an exported language model only goes on with texts",
        got="task: language_model",
        allowed="an export of a model that translates; a run, to measure texts",
        fix=f"let it go on with a text: `trimtab generate {folder}`; to measure it name the run it came from",
    )


def _check_length(folder: Path, recipe: Recipe, engine: HuggingFaceModel | OnnxModel) -> None:
    if recipe.data.max_tokens > engine.positions:
        raise input_error(
            f"{folder / RECIPE}: data.max_tokens is more than the model has positions for",
            got=str(recipe.data.max_tokens),
            allowed=f"at most {engine.positions}",
            fix="export the run once more",
        )
