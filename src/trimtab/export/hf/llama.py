"""`--to hf` of a language model: a folder that transformers loads as Llama, Qwen2 or Qwen3."""

import json
from collections.abc import Iterator
from pathlib import Path

import torch

from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem
from trimtab.export.hf.fast_tokenizer import of_bytes, of_sentencepiece, write_fast_tokenizer
from trimtab.export.hf.llama_engine import LlamaModel, open_llama
from trimtab.export.hf.llama_shape import write_settings
from trimtab.export.hf.llama_weights import write_weights
from trimtab.export.hf.pretrained_tokenizer import write_pretrained_tokenizer
from trimtab.export.hf.sentencepiece_spec import SentencePieceSpec
from trimtab.export.target import decoder_settings
from trimtab.export.tokenizer_files import SOURCE
from trimtab.model.decoder_only import DecoderOnly


def supports(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """Every key of the recipe that neither class or no `tokenizer.json` can express."""
    found = obstacles("hf", model=recipe.model, transforms=recipe.data.transforms)
    return [*found, *_of_vocabulary(tokenizers.target)]


def write(model: DecoderOnly, tokenizer: AnyTokenizer, folder: Path, *, window: int) -> None:
    """Writes weights, settings and tokenizer; `window` is the most tokens that the model has learned to read."""
    write_weights(model, folder)
    write_settings(model.config, tokenizer, folder, window=window)
    if isinstance(tokenizer, FastTokenizer):
        write_pretrained_tokenizer(tokenizer, folder, window=window)
        return
    names = [tokenizer.piece(id) for id in _special(tokenizer)]
    spec = SentencePieceSpec.of(tokenizer.model)
    if spec.is_bytes:
        others = {each.text: id for id, each in enumerate(spec.pieces) if each.sort != "byte"}
        built = of_bytes([id for id, each in enumerate(spec.pieces) if each.sort == "byte"], others)
    else:
        built = of_sentencepiece(spec, unknown=tokenizer.unknown)
    write_fast_tokenizer(built, tokenizer, names, folder, window=window)
    (folder / SOURCE).write_bytes(tokenizer.model)


def open_engine(folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device) -> LlamaModel:
    """The model in a folder, which must be that of the recipe."""
    return open_llama(
        folder, decoder_settings(recipe), tokenizers.target, window=recipe.data.max_tokens, device=device
    )


def usage(folder: str) -> str:
    """Python that continues from a prompt, for the model card."""
    name = json.dumps(folder, ensure_ascii=False)
    return (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f"tokenizer = AutoTokenizer.from_pretrained({name})\n"
        f"model = AutoModelForCausalLM.from_pretrained({name})\n"
        'batch = tokenizer(["Once"], return_tensors="pt")\n'
        "written = model.generate(**batch, max_new_tokens=64, do_sample=True, temperature=0.8, top_p=0.95)\n"
        "print(tokenizer.batch_decode(written, skip_special_tokens=True)[0])"
    )


def limits(tokenizer: AnyTokenizer, *, window: int) -> Iterator[str]:
    """Where the library may differ from the trainer, a sentence each, for the model card."""
    yield (
        f"It reads {window} tokens, the start symbol included; `generate` lets texts grow beyond, where they "
        "are nothing that was trained."
    )
    if isinstance(tokenizer, FastTokenizer):
        return
    if SentencePieceSpec.of(tokenizer.model).model == "unigram":
        yield (
            "Where two splits of a text are equally likely `tokenizer.json` takes the other one, which is about one "
            f"line in 15,000; `{SOURCE}` is the very model of the training."
        )
    if not SentencePieceSpec.of(tokenizer.model).is_bytes:
        yield (
            "The sign `▁` in a text is read as a space, as sentencepiece does; trimtab spells it in bytes."
        )
    names = ", ".join(f"`{tokenizer.piece(id)}`" for id in _special(tokenizer))
    yield f"{names} in a text are text: `split_special_tokens` is set."


def _special(tokenizer: AnyTokenizer) -> tuple[int, int, int, int]:
    return tokenizer.pad, tokenizer.unknown, tokenizer.start, tokenizer.end


def _of_vocabulary(tokenizer: AnyTokenizer) -> Iterator[Problem]:
    if isinstance(tokenizer, FastTokenizer):
        return
    spec = SentencePieceSpec.of(tokenizer.model)
    if spec.is_bytes or (spec.model is not None and not spec.space_behind):
        return
    yield Problem(
        what="data.tokenizer: `tokenizer.json` cannot reproduce this sentencepiece model",
        got="one that ends words with ▁" if spec.space_behind else "a model of words or of characters",
        allowed="unigram, bpe, or bytes",
        fix="train with a tokenizer of one of these to export for hf",
    )
