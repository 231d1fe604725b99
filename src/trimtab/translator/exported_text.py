"""A folder that an export of a language model wrote, ready to generate: its own weights, run by transformers."""

from dataclasses import dataclass
from pathlib import Path

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.load import load_recipe
from trimtab.data.exact_text import ExactText
from trimtab.device import choose_device
from trimtab.engines.hugging_face_files import WEIGHTS
from trimtab.engines.llama import LlamaModel, open_llama
from trimtab.engines.plain_files import JSON_BYTES, plain_file
from trimtab.errors import InputError, input_error, reading
from trimtab.translator.export_card import RECIPE, check_weights, read_card, read_tokenizers, unknown_card
from trimtab.translator.pairs_alone import refuse_pairs_alone


@dataclass(frozen=True, slots=True)
class ExportedText:
    """An exported language model with what belongs to it."""

    model: LlamaModel
    tokenizer: ExactText
    window: int
    """Most tokens that it has learned to read."""


def load_exported_text(folder: Path, *, device: str | None = None) -> ExportedText:
    """The exported language model in a folder. Raises InputError where something of it is missing, closed to this user,
    damaged or too new, and where it translates, as a model of pairs alone does too."""
    with reading(folder):
        return _loaded(folder, device=device)


def _loaded(folder: Path, *, device: str | None) -> ExportedText:
    card = read_card(folder)
    tokenizer = read_tokenizers(folder, card).target
    recipe = load_recipe(plain_file(folder, str(RECIPE), most=JSON_BYTES)).recipe
    if not isinstance(recipe.model, DecoderModel):
        raise translates(str(folder))
    refuse_pairs_alone(recipe, name=str(folder))
    if card["target"] != "hf":
        raise unknown_card(folder, got=f"an export for {card['target']!r}"[:80])
    if (
        card["weights"]["file"] != WEIGHTS
    ):  # the weights whose fingerprint is taken must be those that are opened
        raise unknown_card(folder, got=f"weights in {card['weights']['file']}")
    check_weights(folder, card)
    window = recipe.data.max_tokens
    model = open_llama(folder, recipe.model, tokenizer, window=window, device=choose_device(device))
    return ExportedText(model, ExactText(tokenizer), window)


def translates(spec: str) -> InputError:
    """The error for a model that has a source to read."""
    return input_error(
        f"{spec}: a model that translates, and goes on from no prompt",
        got="an encoder-decoder",
        allowed="a language model: `task: language_model` in its recipe",
        fix=f"translate with it: `trimtab translate {spec}`",
    )
