"""How a model translates: what decoding needs to know of its recipe, its tokenizers and its device."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from trimtab.config.reserved import SEPARATOR
from trimtab.config.run import Recipe
from trimtab.data.context import context_of
from trimtab.data.source_factors import normalised_words, without_factors
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.batches import GPU_BATCH_TOKENS
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.ensemble import Ensemble
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.errors import input_error
from trimtab.inference.tagged import Tagged
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import Model
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.module.x_transformers import XTranslator
from trimtab.model.source_prompts import SourcePrompts
from trimtab.types import Translates

CPU_BATCH_TOKENS = 2048


def translation_setup(
    model: Model,
    tokenizer: Tagged,
    normalise: "Callable[[str], str]",
    *,
    recipe: Recipe,
    search: Search,
) -> TranslationSetup:
    """How this model translates; batches fit the device. Where source and translation share one row, each has half
    of it. Raises InputError for a language model that has no separator between them."""
    device = model.output_matrix.device
    columns = recipe.data.factor_columns
    factored: dict[str, Any] = {
        "factor_columns": columns,
        "words_alone": partial(without_factors, count=columns),
        "normalise_words": partial(normalised_words, change=normalise, count=columns),
        "cuts_words": False,
    }
    return TranslationSetup(
        model=opener_of(model, tokenizer.inner),
        tokenizer=tokenizer,
        device=device,
        normalise=normalise,
        max_tokens=recipe.data.max_tokens // (2 if recipe.facts.one_row else 1),
        search=search,
        batch_tokens=GPU_BATCH_TOKENS if device.type == "cuda" else CPU_BATCH_TOKENS * search.beam,
        encode_target=tokenizer.inner.target.encode,
        **(factored if columns else {}),
    )


def opener_of(model: Model, tokenizers: Tokenizers) -> Translates:
    """The model as a search sees it; InputError for a language model that was not trained on pairs."""
    if model.config.has_encoder:
        return model
    target = tokenizers.target
    if SEPARATOR not in target.symbols:
        raise input_error(
            "a language model of documents does not translate",
            got=f"a vocabulary without {SEPARATOR}, which separates source and target",
            allowed="a model trained on source and target",
            fix="generate text: `trimtab generate RUN`",
        )
    return SourcePrompts(model, start=target.start, separator=target.id(SEPARATOR))


def kept_whole(model: Translates) -> str:
    """What a model is whose sessions cannot be cut to a shortlist, in words; empty for one whose sessions can."""
    match model:
        case Ensemble():
            return next(filter(None, map(kept_whole, model.models)), "")
        case EncoderDecoder() | SourcePrompts() | XTranslator():
            return ""
        case Seq2SeqModule():
            return "a pretrained model that transformers computes"
        case _:
            return "an exported model"


def document_context(recipe: Recipe, tokenizers: Tokenizers, *, num_tags: int) -> DocumentContext:
    """How the model of a recipe reads documents."""
    config = context_of(recipe.data)
    if config is None:
        return replace(ALONE, num_tags=num_tags)
    both = config.sides == "both"
    return DocumentContext(
        sentences=config.sentences,
        both=both,
        whole=config.loss == "all",
        source_separator=tokenizers.source.id(config.separator),
        target_separator=tokenizers.target.id(config.separator) if both else ALONE.target_separator,
        num_tags=num_tags,
    )
