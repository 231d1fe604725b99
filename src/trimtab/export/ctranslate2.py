"""`--to ctranslate2`: a folder that CTranslate2 loads, with the tokenizer files that its users need beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trimtab.config.exporting import obstacles
from trimtab.config.run import Recipe
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.engines.ctranslate2 import open_ctranslate2, require_ctranslate2
from trimtab.engines.ctranslate2_files import CONFIG, WEIGHTS
from trimtab.errors import Problem
from trimtab.export.ctranslate2_opened import OpenedCTranslate2
from trimtab.export.ctranslate2_spec import model_spec
from trimtab.export.hf_tokenizer import SOURCE as SOURCE_MODEL
from trimtab.export.hf_tokenizer import TARGET as TARGET_MODEL
from trimtab.export.quantized import EXACT
from trimtab.translator import LoadedModel

KINDS = (EXACT, "float16", "bfloat16", "int8_float16", "int8_bfloat16", "int8_float32", "int8")
"""Weights that CTranslate2 can store; it computes in what the device has: a CPU in float32, and int8 where they are.
The last, int8, is int8_float32. (int16 is left out: few CPUs have it, and it is as large as float16.)"""
EPSILON = {"layer": 1e-5, "rms": 1e-6}
"""Of the norms. The library has defaults of its own, which are others."""


@dataclass(frozen=True, slots=True)
class CTranslate2:
    """Every shape of encoder-decoder that a recipe can have; see `ctranslate2_spec`."""

    quantization: str = EXACT
    name: str = "ctranslate2"

    @property
    def weights(self) -> tuple[str, ...]:
        """Weights and settings; the vocabularies follow from the tokenizers, which the card has besides."""
        return (WEIGHTS, CONFIG)

    def check(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that stands in the way."""
        require_ctranslate2()
        return obstacles("ctranslate2", model=recipe.model, transforms=recipe.data.transforms)

    def write(self, model: LoadedModel, folder: Path) -> None:
        """Weights, settings, vocabularies, and the tokenizers' own models."""
        source, target = model.tokenizers.source, model.tokenizers.target
        spec = model_spec(model.model, num_source_ids=source.num_ids)
        spec.register_source_vocabulary(pieces_of(source))
        spec.register_target_vocabulary(pieces_of(target))
        for key, value in settings(model).items():
            setattr(spec.config, key, value)
        spec.validate()
        spec.optimize(None if self.quantization == EXACT else self.quantization)
        spec.save(str(folder))
        (folder / SOURCE_MODEL).write_bytes(source.model)
        (folder / TARGET_MODEL).write_bytes(target.model)

    def open(self, folder: Path) -> OpenedCTranslate2:
        """What the library makes of the folder, on the CPU."""
        tokenizers = [SentencePiece((folder / name).read_bytes()) for name in (SOURCE_MODEL, TARGET_MODEL)]
        model = open_ctranslate2(folder, device=torch.device("cpu"), never=never_written(tokenizers[1]))
        return OpenedCTranslate2(model, source=tokenizers[0].processor, target=tokenizers[1].processor)

    def usage(self, folder: str, *, tags: Sequence[str] = ()) -> str:
        """Python that translates a line, the tags before it."""
        before = f"{json.dumps(list(tags), ensure_ascii=False)} + " if tags else ""
        return (
            "import ctranslate2\nimport sentencepiece\n\n"
            f"folder = {json.dumps(folder, ensure_ascii=False)}\n"
            f'source = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{SOURCE_MODEL}")\n'
            f'target = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{TARGET_MODEL}")\n'
            "translator = ctranslate2.Translator(folder)\n"
            f'pieces = {before}source.encode("A line.", out_type=str)\n'
            "found = translator.translate_batch([pieces], beam_size=4, max_decoding_length=2 * len(pieces) + 11,\n"
            "                                   min_decoding_length=0, disable_unk=True)\n"
            "print(target.decode(found[0].hypotheses[0]))"
        )

    def limits(self, model: LoadedModel) -> list[str]:
        """What of the trainer's search has no place in such a folder."""
        longest = model.recipe.data.max_tokens
        told = [
            f"It reads at most {longest} tokens, end symbol included. `trimtab translate` cuts longer lines in pieces; "
            "the library itself cuts them off or fails.",
            "`translate_batch` stops when as many hypotheses have ended as the beam is wide (`patience`), and gives at "
            "`max_decoding_length` what has no end. `trimtab translate` searches on until nothing open can win, and "
            "scores no translation without its end.",
            "`min_decoding_length` is 1 in the library by default, which forbids the empty translation: the code above "
            "says 0, as in training.",
            "What the library suppresses (`disable_unk`, `suppress_sequences`) it leaves out of the softmax, so that "
            "other scores rise and another hypothesis may win, where the model gives it much. `trimtab translate` "
            "does not.",
            "`trimtab translate` searches with it greedily or by beam. Samples, forced prefixes, blocked repeats and "
            "several models together need the run, or an export for hf.",
        ]
        if self.quantization != EXACT:
            told.append(
                f"The weights are {self.quantization}: texts differ in some lines from those of the trainer, as the "
                "proof says."
            )
        if model.tokenizers.source.symbols:
            told.append(
                "Tags are pieces of their own before those of the line: "
                + ", ".join(f"`{each}`" for each in model.tokenizers.source.symbols)
                + ". In a text they are letters like others."
            )
        return told


def settings(model: LoadedModel) -> dict[str, Any]:
    """What `config.json` says; the end symbol is put behind each source by the library."""
    target = model.tokenizers.target
    return {
        "unk_token": target.piece(target.unknown),
        "bos_token": target.piece(target.start),
        "eos_token": target.piece(target.end),
        "decoder_start_token": target.piece(target.start),
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": EPSILON[model.recipe.model.norm],
    }


def pieces_of(tokenizer: SentencePiece) -> list[str]:
    """Every piece by its id, which is what the library calls a vocabulary."""
    return [tokenizer.piece(id) for id in range(tokenizer.num_ids)]


def never_written(tokenizer: SentencePiece) -> list[int]:
    """The ids that no translation has: padding, start and unknown."""
    return sorted({tokenizer.pad, tokenizer.start, tokenizer.unknown} - {tokenizer.end})
