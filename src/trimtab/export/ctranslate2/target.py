"""`--to ctranslate2`: a folder that CTranslate2 loads, with the tokenizer files that its users need beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor

from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.device import choose_device
from trimtab.errors import Problem
from trimtab.export.ctranslate2.engine import CTranslate2Model, open_ctranslate2, require_ctranslate2
from trimtab.export.ctranslate2.files import CONFIG, WEIGHTS, read_vocabularies
from trimtab.export.ctranslate2.spec import model_spec
from trimtab.export.manifest import unknown_manifest
from trimtab.export.quantized import EXACT
from trimtab.export.target import TargetCard, Trained, translator_of
from trimtab.export.tokenizer_files import FAST, SOURCE, TARGET, write_models
from trimtab.types import Ragged

NEVER_WRITTEN = [0, 1, 2]
"""Padding, unknown and start of a byte-level vocabulary."""
EPSILON = {"layer": 1e-5, "rms": 1e-6}
"""Of the norms. The library has defaults of its own, which are others."""


@dataclass(frozen=True, slots=True)
class CTranslate2:
    """Every shape of encoder-decoder that a recipe can have; see `spec`.

    Weights are stored as `quantization` says; the library computes in what the device has: a CPU in float32, and int8
    where the weights are.
    """

    quantization: str = EXACT
    name: str = "ctranslate2"
    files: tuple[str, ...] = (WEIGHTS, CONFIG)
    """Weights and settings; the vocabularies follow from the tokenizers, which the manifest has besides."""

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that prevents the export."""
        require_ctranslate2()
        return obstacles(
            "ctranslate2",
            model=recipe.model,
            transforms=recipe.data.transforms,
            factors=recipe.data.source_factors,
        )

    def write(self, trained: Trained, folder: Path) -> None:
        """Weights, settings, vocabularies, and the tokenizers' own models."""
        source, target = trained.tokenizers.source, trained.tokenizers.target
        spec = model_spec(translator_of(trained), num_source_ids=source.num_ids)
        spec.register_source_vocabulary(pieces_of(source))
        spec.register_target_vocabulary(pieces_of(target))
        for key, value in settings(trained).items():
            setattr(spec.config, key, value)
        spec.validate()
        spec.optimize(None if self.quantization == EXACT else self.quantization)
        spec.save(str(folder))
        write_models(trained.tokenizers, folder, both=True)

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> CTranslate2Model:
        """The library's translator, whose sizes, symbols and vocabularies must be those of the recipe's model."""
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
        for found, own in zip(read_vocabularies(folder), (tokenizers.source, target), strict=True):
            if found != pieces_of(own):
                raise unknown_manifest(folder, got="vocabularies that differ from the tokenizers")
        return open_ctranslate2(
            folder,
            device=device or choose_device(),
            never=never_written(target),
            expected=sizes,
            symbols=symbols_of(target),
        )

    def as_users_open_it(self, folder: Path) -> "OpenedCTranslate2":
        """What the library makes of the folder, on the CPU."""
        if (folder / FAST).exists():
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(folder / FAST))
            # The same ids as in every vocabulary that is trained here.
            model = open_ctranslate2(folder, device=torch.device("cpu"), never=NEVER_WRITTEN)
            return OpenedCTranslate2(model, source=FastPieces(tokenizer), target=FastPieces(tokenizer))
        tokenizers = [SentencePiece((folder / name).read_bytes()) for name in (SOURCE, TARGET)]
        model = open_ctranslate2(folder, device=torch.device("cpu"), never=never_written(tokenizers[1]))
        return OpenedCTranslate2(
            model, source=ModelPieces(tokenizers[0].processor), target=ModelPieces(tokenizers[1].processor)
        )

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """How the library uses the folder, and where it differs from the trainer."""
        return TargetCard(
            library="ctranslate2",
            usage=self.usage(
                name,
                tags=tags,
                longest=trained.recipe.data.max_tokens,
                fast=isinstance(trained.tokenizers.source, FastTokenizer),
            ),
            limits=self.limits(trained),
        )

    def usage(self, folder: str, *, tags: Sequence[str] = (), longest: int, fast: bool = False) -> str:
        """Python that translates a line, the tags before it, for a model that reads and writes `longest` tokens; `fast`
        where its tokenizer is a tokenizer.json."""
        before = f"{json.dumps(list(tags), ensure_ascii=False)} + " if tags else ""
        if fast:
            opened = f'tokenizer = tokenizers.Tokenizer.from_file(f"{{folder}}/{FAST}")\n'
            pieces = 'tokenizer.encode("A line.", add_special_tokens=False).tokens'
            text = "tokenizer.decode([tokenizer.token_to_id(piece) for piece in found[0].hypotheses[0]])"
        else:
            opened = (
                f'source = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{SOURCE}")\n'
                f'target = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{TARGET}")\n'
            )
            pieces = 'source.encode("A line.", out_type=str)'
            text = "target.decode(found[0].hypotheses[0])"
        return (
            f"import ctranslate2\nimport {'tokenizers' if fast else 'sentencepiece'}\n\n"
            f"folder = {json.dumps(folder, ensure_ascii=False)}\n"
            f"{opened}"
            "translator = ctranslate2.Translator(folder)\n"
            f"pieces = {before}{pieces}\n"
            f"most = min(2 * len(pieces) + 11, {longest})  # the library fails beyond the model's positions\n"
            "found = translator.translate_batch([pieces], beam_size=4, patience=2, max_decoding_length=most,\n"
            "                                   min_decoding_length=0, disable_unk=True)\n"
            f"print({text})"
        )

    def limits(self, trained: Trained) -> tuple[str, ...]:
        """What of the trainer's search has no place in such a folder."""
        longest = trained.recipe.data.max_tokens
        told = [
            f"It reads at most {longest} tokens, end symbol included. `trimtab translate` cuts longer lines in pieces; "
            "the library itself cuts them off or fails.",
            "`translate_batch` stops when as many hypotheses have ended as the beam is wide, times `patience`, and "
            "gives at `max_decoding_length` what has no end. `trimtab translate` searches until nothing open can win, "
            "and scores no translation without its end. With the `patience=2` above, fewer lines differ than with the "
            "library's 1.",
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
        if "int8" in self.quantization:
            told.append(
                "On AMD processors without VNNI, those before Zen 4, the library's sums of products of bytes may spill "
                "over, and texts are worse than the proof says. With `CT2_USE_MKL=1` they are exact and slower than "
                "float32: export float32 for these processors."
            )
        if trained.tokenizers.source.symbols:
            told.append(
                "Tags are pieces of their own before those of the line: "
                + ", ".join(f"`{each}`" for each in trained.tokenizers.source.symbols)
                + ". In a text they are letters like others."
            )
        return tuple(told)


class OpenedCTranslate2:
    """See `export.target.TranslatesLines`."""

    def __init__(
        self,
        model: CTranslate2Model,
        *,
        source: "ModelPieces | FastPieces",
        target: "ModelPieces | FastPieces",
    ) -> None:
        self.model, self.source, self.target = model, source, target
        self.source_ids = {piece: id for id, piece in enumerate(model.source)}

    def encode(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """The ids that the library's vocabulary has for the pieces of each line, tags before them and the end after.

        What sentencepiece has no piece for it gives as it stands, and the library reads that as unknown."""
        end = self.model.target[self.model.end]
        unknown = self.source.unknown
        return [
            [self.source_ids.get(each, unknown) for each in (*tags, *line, end)]
            for line in self.source.split(lines)
        ]

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token, by `score_batch`."""
        return self.model.log_probabilities(source, target)

    def search(self, source: Ragged, *, beam: int, limits: Sequence[int]) -> list[list[int]]:
        """The best that `translate_batch` finds, told the trainer's limits."""
        found = self.model.search(source, limits=limits, beam=beam, n=1, length_penalty=1.0, exact=True)
        return [few[0][0] for few in found]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What the tokenizer makes of the pieces of each row."""
        return [self.target.joined([self.model.target[id] for id in row]) for row in rows]


@dataclass(frozen=True, slots=True)
class ModelPieces:
    """Lines as pieces, and back, by sentencepiece."""

    processor: SentencePieceProcessor

    @property
    def unknown(self) -> int:
        """The id of what has no piece."""
        return self.processor.unk_id()

    def split(self, lines: Sequence[str]) -> list[list[str]]:
        """The pieces of each line."""
        return self.processor.encode(list(lines), out_type=str)

    def joined(self, pieces: Sequence[str]) -> str:
        """The text of pieces."""
        return self.processor.decode(list(pieces))


@dataclass(frozen=True, slots=True)
class FastPieces:
    """Lines as pieces, and back, by the library tokenizers."""

    tokenizer: Any
    unknown: int = 1

    def split(self, lines: Sequence[str]) -> list[list[str]]:
        """The pieces of each line."""
        return [self.tokenizer.encode(line, add_special_tokens=False).tokens for line in lines]

    def joined(self, pieces: Sequence[str]) -> str:
        """The text of pieces."""
        return self.tokenizer.decode([self.tokenizer.token_to_id(piece) for piece in pieces])


def settings(trained: Trained) -> dict[str, Any]:
    """What `config.json` says; the end symbol is put after each source by the library."""
    return {
        **symbols_of(trained.tokenizers.target),
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": EPSILON[trained.recipe.model.norm],
    }


def symbols_of(target: AnyTokenizer) -> dict[str, str]:
    """The special pieces as `config.json` names them."""
    return {
        "unk_token": target.piece(target.unknown),
        "bos_token": target.piece(target.start),
        "eos_token": target.piece(target.end),
        "decoder_start_token": target.piece(target.start),
    }


def pieces_of(tokenizer: AnyTokenizer) -> list[str]:
    """Every piece by its id, which is what the library calls a vocabulary."""
    return [tokenizer.piece(id) for id in range(tokenizer.num_ids)]


def never_written(tokenizer: AnyTokenizer) -> list[int]:
    """The ids that no translation has: padding, start and unknown."""
    return sorted({tokenizer.pad, tokenizer.start, tokenizer.unknown} - {tokenizer.end})
