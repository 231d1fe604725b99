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

from trimtab.config.exporting import obstacles
from trimtab.config.run import Recipe
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem


def refusals(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """A problem for each key that neither class can express, with the values that could be exported."""
    return [
        *obstacles("hf", model=recipe.model, transforms=recipe.data.transforms),
        *_of_vocabularies(recipe, tokenizers),
    ]


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
