"""How a model translates: what decoding needs to know of its recipe, its tokenizers and its device."""

from collections.abc import Callable
from dataclasses import replace

from trimtab.config.run import Recipe
from trimtab.data.context import context_of
from trimtab.data.tokenizers import Tokenizers
from trimtab.decode.document_context import ALONE, DocumentContext
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.session import SessionOpener
from trimtab.translator.tagged import Tagged

CPU_BATCH_TOKENS = 2048
GPU_BATCH_TOKENS = 32768


def translation_setup(
    model: EncoderDecoder,
    tokenizer: Tagged,
    normalise: "Callable[[str], str]",
    *,
    recipe: Recipe,
    search: Search,
) -> TranslationSetup:
    """How this model translates; batches fit the device."""
    device = model.output_matrix.device
    return TranslationSetup(
        model=SessionOpener(model),
        tokenizer=tokenizer,
        device=device,
        normalise=normalise,
        max_tokens=recipe.data.max_tokens,
        search=search,
        batch_tokens=GPU_BATCH_TOKENS if device.type == "cuda" else CPU_BATCH_TOKENS * search.beam,
        encode_target=tokenizer.inner.target.encode,
    )


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
