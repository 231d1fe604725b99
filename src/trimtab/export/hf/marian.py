"""`--to hf` of a translator: a folder that transformers loads as Pegasus or MarianMT without any code of its own.


PegasusForConditionalGeneration has the arithmetic of `norm_position: before`: LayerNorm (eps 1e-5) before each
sub-layer and behind each stack, biases, embeddings times the root of the width, a table of positions that is stored
with the weights (so sines, learned vectors, or zeros), sizes apart for the two sides. MarianMTModel has that of
`norm_position: after`; its positions are sines, since it does not store their table when it is saved again. (M2M100
has other sines and pad 1; BART and mBART a norm behind the embeddings; T5 relative positions; T5Gemma further norms.)

Two more are exact by writing them out: linear maps without bias have biases of zero, and shared heads of keys and
values are repeated for each head of queries.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import torch

from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem
from trimtab.export.hf.library import check_finite, older_than, open_tokenizer
from trimtab.export.hf.marian_engine import HuggingFaceModel, open_hugging_face
from trimtab.export.hf.marian_opened import OpenedHuggingFace
from trimtab.export.hf.marian_settings import write_settings
from trimtab.export.hf.marian_tokenizer import write_tokenizer
from trimtab.export.hf.marian_weights import write_weights
from trimtab.export.manifest import check_length
from trimtab.export.target import Trained
from trimtab.model.encoder_decoder import EncoderDecoder

SEARCHES_TWO_VOCABULARIES: Final = "5.18"
"""The first version whose beam search takes the number of ids from the logits; older ones take the source's."""


def supports(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """A problem for each key that neither class can express, with the values that could be exported."""
    return [
        *obstacles(
            "hf", model=recipe.model, transforms=recipe.data.transforms, factors=recipe.data.source_factors
        ),
        *_of_vocabularies(recipe, tokenizers),
    ]


def write(trained: Trained, model: EncoderDecoder, folder: Path) -> None:
    """Writes weights, settings of model and search, tokenizer."""
    write_weights(model, folder, num_source_ids=trained.tokenizers.source.num_ids)
    write_settings(trained, folder)
    write_tokenizer(trained.tokenizers, folder, max_tokens=trained.recipe.data.max_tokens)


def open_engine(
    folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device
) -> HuggingFaceModel:
    """The model in a folder, whose sizes and symbols must be those of the recipe and the vocabularies."""
    engine = open_hugging_face(folder, device=device, expected=_sizes(recipe, tokenizers))
    check_finite(folder, engine.network)
    check_length(folder, recipe, positions=engine.positions)
    return engine


def as_users_open_it(folder: Path) -> OpenedHuggingFace:
    """What `from_pretrained` makes of the folder, on the CPU in float32."""
    return OpenedHuggingFace(open_hugging_face(folder, device=torch.device("cpu")), open_tokenizer(folder))


def usage(folder: str, *, tags: Sequence[str] = ()) -> str:
    """Python that translates a line, the tags before it."""
    name, line = json.dumps(folder, ensure_ascii=False), json.dumps(" ".join([*tags, "A line."]))
    return (
        "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
        f"tokenizer = AutoTokenizer.from_pretrained({name})\n"
        f"model = AutoModelForSeq2SeqLM.from_pretrained({name})\n"
        f'batch = tokenizer([{line}], return_tensors="pt", padding=True, truncation=True)\n'
        "print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))"
    )


def limits(trained: Trained) -> tuple[str, ...]:
    """What of the trainer's search and text has no place in such a folder."""
    longest = trained.recipe.data.max_tokens
    told = [
        f"It reads at most {longest} tokens; the tokenizer's `truncation=True` cuts longer lines off, "
        "`trimtab translate` cuts them in pieces.",
        "`generate` knows no limit by the length of the source, and takes what it cuts off for finished: where the "
        f"model repeats itself it may give {longest} tokens without an end. `trimtab translate` lets no "
        "translation grow beyond twice the source and ten, and scores none without its end.",
        "`early_stopping: never` in `generation_config.json` makes `generate` search as far as the trainer does; "
        "`early_stopping=True` is faster and may give a shorter translation.",
        '`pipeline("translation")` exists in transformers 4 only; the code above is for 4 and 5.',
    ]
    if not isinstance(trained.tokenizers.source, FastTokenizer):
        told.append(
            "The tokenizer takes a line that begins with `>>` and has `<<` in it for one with a language code, as "
            "those of MarianMT do."
        )
    if trained.tokenizers.source.symbols:
        told.append(
            "Tags and special symbols are symbols anywhere in a line: "
            + ", ".join(f"`{each}`" for each in trained.tokenizers.source.symbols)
            + ". `trimtab translate` takes them by --tag only."
        )
    if trained.recipe.model.norm_position == "after":
        told.append(
            "Converters of MarianMT models that take the decoder's first vector to be zero, as that of CTranslate2 "
            "does, would give other scores: this model starts from a symbol with a vector of its own."
        )
    return tuple(told)


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


def _of_vocabularies(recipe: Recipe, tokenizers: Tokenizers) -> Iterator[Problem]:
    if tokenizers.shared:
        return
    source, target = tokenizers.source, tokenizers.target
    if source.num_ids != target.num_ids and (found := older_than(SEARCHES_TWO_VOCABULARIES)):
        yield Problem(
            what="data.source_tokenizer: this transformers searches only where both vocabularies have one size",
            got=f"transformers {found}, {source.num_ids:,} and {target.num_ids:,} ids",
            allowed=f"transformers {SEARCHES_TWO_VOCABULARIES} or newer",
            fix=f'pip install --upgrade "transformers>={SEARCHES_TWO_VOCABULARIES}"',
        )
    if source.symbols:
        yield Problem(
            what="data.source_tokenizer: a MarianTokenizer cannot have tags with a separate source vocabulary",
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
