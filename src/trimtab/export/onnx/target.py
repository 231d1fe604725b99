"""`--to onnx`: an encoder and a decoder that ONNX Runtime computes, and the tokenizer beside them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from trimtab.config.export_targets import obstacles
from trimtab.config.run import Recipe
from trimtab.data.byte_level_tokenizer import open_byte_level
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem
from trimtab.export.manifest import check_length
from trimtab.export.onnx.engine import OnnxModel, open_onnx, require_onnx
from trimtab.export.onnx.files import DECODER, ENCODER, SETTINGS, WEIGHTS
from trimtab.export.onnx.opened import OpenedOnnx
from trimtab.export.onnx.write_graphs import REDUCED_KIND, write_graphs
from trimtab.export.target import TargetCard, Trained
from trimtab.export.tokenizer_files import FAST, SOURCE, TARGET, write_models


@dataclass(frozen=True, slots=True)
class Onnx:
    """Graphs that are written from the modules of the model, so that no variant of it is left out."""

    kind: str = "float32"
    name: str = "onnx"
    files: tuple[str, ...] = (WEIGHTS, ENCODER, DECODER, SETTINGS)

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that prevents the export."""
        require_onnx()
        return obstacles(
            "onnx", model=recipe.model, transforms=recipe.data.transforms, factors=recipe.data.source_factors
        )

    def write(self, trained: Trained, folder: Path) -> None:
        """Weights, graphs, settings, and the sentencepiece models of the training."""
        write_graphs(trained, folder, kind=self.kind)
        write_models(trained.tokenizers, folder)

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> OnnxModel:
        """The graphs in ONNX Runtime, whose sizes and symbols must be those of the recipe's model; where no device is
        named, on that for which the weights are."""
        side, target = recipe.model.decoder, tokenizers.target
        expected = {
            "layers": recipe.model.decoder_layers,
            "kv_heads": side.kv_heads or side.heads,
            "size": side.dim // side.heads,
            "num_ids": target.num_ids,
            **{name: getattr(target, name) for name in ("start", "end", "pad", "unknown")},
        }
        engine = open_onnx(folder, device=device, expected=expected)
        check_length(folder, recipe, positions=engine.positions)
        return engine

    def as_users_open_it(self, folder: Path) -> OpenedOnnx:
        """The folder in ONNX Runtime, on the CPU; float16 too, for this proof alone."""
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        engine = open_onnx(folder, device=torch.device("cpu"), to_prove=True)
        if (folder / FAST).exists():
            fast = open_byte_level((folder / FAST).read_bytes(), symbols=settings["tags"])
            return OpenedOnnx(engine, Tokenizers(fast, fast))
        sides = [folder / SOURCE, *([folder / TARGET] if (folder / TARGET).exists() else [])]
        models = [
            SentencePiece(each.read_bytes(), symbols=settings["tags"], name=str(each)) for each in sides
        ]
        return OpenedOnnx(engine, Tokenizers(models[0], models[-1]))

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """How ONNX Runtime uses the folder, and where it differs from the trainer."""
        return TargetCard(library="onnx", usage=self.usage(name, tags=tags), limits=self.limits(trained))

    def usage(self, folder: str, *, tags: Sequence[str] = ()) -> str:
        """Python that translates a line, the tags before it."""
        name = json.dumps(folder, ensure_ascii=False)
        tagged = f", tags={list(tags)!r}" if tags else ""
        return (
            "from trimtab import load_translator\n\n"
            f'print(load_translator({name}{tagged}).translate(["A line."]))'
        )

    def limits(self, trained: Trained) -> tuple[str, ...]:
        """Where the library's text may differ from the trainer's, and what the graphs leave to whoever runs them."""
        longest = trained.recipe.data.max_tokens
        told = [
            f"It reads and writes at most {longest} tokens; `trimtab translate` cuts longer lines in pieces.",
            "The graphs hold no search and no tokenizer: "
            + (
                f"`{FAST}` is for the library tokenizers"
                if isinstance(trained.tokenizers.source, FastTokenizer)
                else f"`{SOURCE}` is a sentencepiece model"
            )
            + ", `onnx.json` names the symbols, and the search is that of `trimtab translate`.",
        ]
        if self.kind in ("int8", REDUCED_KIND):
            told += [
                "Weights are rounded to whole numbers of 8 bits, and so is what comes in, with one scale for all "
                "tokens of a call: a translation may change a little with the lines that are translated beside it.",
                "It runs on CPUs. " + self._range(),
            ]
        if self.kind == "float16":
            told.append(
                "It runs on GPUs, by onnxruntime-gpu; CPUs compute float16 slowly and are refused. It was proven with "
                "the same rounded weights on a CPU."
            )
        return tuple(told)

    def _range(self) -> str:
        if self.kind == REDUCED_KIND:
            return "Weights have 7 of the 8 bits, so that products of two fit on processors without VNNI too."
        return (
            "Where it was made on a processor with VNNI it is refused on those without, whose products would spill "
            f"over; `--quantization {REDUCED_KIND}` is for them."
        )
