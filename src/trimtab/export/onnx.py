"""`--to onnx`: an encoder and a decoder that ONNX Runtime computes, and the tokenizer beside them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from trimtab.config.exporting import obstacles
from trimtab.config.run import Recipe
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.engines.onnx_files import DECODER, ENCODER, SETTINGS, WEIGHTS
from trimtab.engines.onnx_runtime import open_onnx, require_onnx
from trimtab.errors import Problem
from trimtab.export.hf_tokenizer import SOURCE, TARGET
from trimtab.export.onnx_files import REDUCED_KIND, write_graphs
from trimtab.export.onnx_opened import OpenedOnnx
from trimtab.translator import LoadedModel

KINDS = ("float32", "float16", "int8", REDUCED_KIND)
"""Of weights; the last one is int8 for processors without VNNI, wherever it is made."""


@dataclass(frozen=True, slots=True)
class Onnx:
    """Graphs that are written from the modules of the model, so that no variant of it is left out."""

    kind: str = "float32"
    name: str = "onnx"
    weights: tuple[str, ...] = (WEIGHTS, ENCODER, DECODER, SETTINGS)

    def check(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that stands in the way."""
        require_onnx()
        return obstacles("onnx", model=recipe.model, transforms=recipe.data.transforms)

    def write(self, model: LoadedModel, folder: Path) -> None:
        """Weights, graphs, settings, and the sentencepiece models of the training."""
        write_graphs(model, folder, kind=self.kind)
        (folder / SOURCE).write_bytes(model.tokenizers.source.model)
        if not model.tokenizers.shared:
            (folder / TARGET).write_bytes(model.tokenizers.target.model)

    def open(self, folder: Path) -> OpenedOnnx:
        """The folder in ONNX Runtime, on the CPU; float16 too, for this proof alone."""
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        sides = [folder / SOURCE, *([folder / TARGET] if (folder / TARGET).exists() else [])]
        models = [
            SentencePiece(each.read_bytes(), symbols=settings["tags"], name=str(each)) for each in sides
        ]
        engine = open_onnx(folder, device=torch.device("cpu"), to_prove=True)
        return OpenedOnnx(engine, Tokenizers(models[0], models[-1]))

    def usage(self, folder: str, *, tags: Sequence[str] = ()) -> str:
        """Python that translates a line, the tags before it."""
        name = json.dumps(folder, ensure_ascii=False)
        tagged = f", tags={list(tags)!r}" if tags else ""
        return (
            "from trimtab import load_translator\n\n"
            f'print(load_translator({name}{tagged}).translate(["A line."]))'
        )

    def limits(self, model: LoadedModel) -> list[str]:
        """Where the library's text may differ from the trainer's, and what the graphs leave to whoever runs them."""
        longest = model.recipe.data.max_tokens
        told = [
            f"It reads and writes at most {longest} tokens; `trimtab translate` cuts longer lines in pieces.",
            "The graphs hold no search and no tokenizer: `source.spm` is a sentencepiece model, `onnx.json` names the "
            "symbols, and the search is that of `trimtab translate`.",
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
        return told

    def _range(self) -> str:
        if self.kind == REDUCED_KIND:
            return "Weights have 7 of the 8 bits, so that products of two fit on processors without VNNI too."
        return (
            "Where it was made on a processor with VNNI it is refused on those without, whose products would spill "
            f"over; `--quantization {REDUCED_KIND}` is for them."
        )
