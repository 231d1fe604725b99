"""Which recipes the classes of transformers compute exactly, and what stands in the way of the others.

PegasusForConditionalGeneration has the arithmetic of `norm_position: before`: LayerNorm (eps 1e-5) before each
sub-layer and behind each stack, biases, embeddings times the root of the width, a table of positions that is stored
with the weights (so sines, learned vectors, or zeros), sizes apart for the two sides. MarianMTModel has that of
`norm_position: after`; its positions are sines, since it does not store their table when it is saved again. (M2M100
has other sines and pad 1; BART and mBART a norm behind the embeddings; T5 relative positions; T5Gemma further norms.)

Two more are exact by writing them out: linear maps without bias have biases of zero, and shared heads of keys and
values are repeated for each head of queries.
"""

from collections.abc import Iterator

from trimtab.config.model import ModelConfig
from trimtab.config.run import Recipe
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem

PLAIN = ("relu", "gelu", "silu", "swish")


def refusals(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """A problem for each key that neither class can express, with the values that could be exported."""
    return [*_of_model(recipe.model), *_of_text(recipe), *_of_vocabularies(recipe, tokenizers)]


def _of_model(model: ModelConfig) -> Iterator[Problem]:
    if model.norm != "layer":
        yield _refused("model.norm", model.norm, "layer")
    if model.activation not in PLAIN:
        yield _refused("model.activation", model.activation, ", ".join(PLAIN))
    if model.norm_position == "before":
        tables = "sinusoidal", "learned"
        if model.tie_embeddings != "all":
            yield _refused("model.tie_embeddings", model.tie_embeddings, "all, with norm_position: before")
    else:
        tables = ("sinusoidal",)
    hint = "" if model.norm_position == "before" else ", with norm_position: after"
    if model.positions not in tables:
        yield _refused("model.positions", model.positions, " or ".join(tables) + hint)
    own = model.decoder_positions
    if (own is not None and own not in (*tables, "none")) or (own == "none" and len(tables) == 1):
        allowed = (*tables, "none") if len(tables) > 1 else tables
        yield _refused("model.decoder_positions", str(own), " or ".join(allowed) + hint)


def _of_text(recipe: Recipe) -> Iterator[Problem]:
    why = {
        "normalize": "changes each line before the tokenizer does",
        "protect": "puts symbols into each line and takes them out of the translation",
        "context": "puts other sentences before each line",
    }
    for number, transform in enumerate(recipe.data.transforms):
        if transform.kind in why:
            yield Problem(
                what=f"data.transforms.{number}: {why[transform.kind]}, which an exported tokenizer cannot",
                got=f"kind: {transform.kind}",
                allowed="transforms that filter or spoil training pairs: length, ratio, character_run, denoise",
                fix="train without it; `data.tokenizer.normalization` normalises inside the tokenizer",
            )


def _of_vocabularies(recipe: Recipe, tokenizers: Tokenizers) -> Iterator[Problem]:
    if tokenizers.shared:
        return
    source, target = tokenizers.source, tokenizers.target
    if source.symbols:
        yield Problem(
            what="data.source_tokenizer: a MarianTokenizer cannot have tags beside a vocabulary of the source's own",
            got=", ".join(source.symbols),
            allowed="tags with one vocabulary for both sides, or two vocabularies without tags",
            fix="leave `data.source_tokenizer` out",
        )
    ids = [(each.pad, each.unknown, each.start, each.end) for each in (source, target)]
    if ids[0] != ids[1]:
        yield Problem(
            what="data.source_tokenizer: its special symbols have other ids than those of data.tokenizer",
            got=f"pad, unknown, start, end {ids[0]} and {ids[1]}",
            allowed="the same ids on both sides, as in vocabularies that a run trains",
            fix="train both vocabularies with the same ids, or leave `data.source_tokenizer` out",
        )


def _refused(key: str, got: str, allowed: str) -> Problem:
    return Problem(
        what=f"{key}: no class of transformers computes this exactly",
        got=got,
        allowed=allowed,
        fix=f"train with another `{key}` to export for hf",
    )
