"""`--to hf`: a folder that Hugging Face's transformers loads without any code of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from trimtab.config.run import Recipe
from trimtab.data.tokenizers import Tokenizers
from trimtab.engines.hugging_face import open_hugging_face, require_transformers
from trimtab.errors import Problem
from trimtab.export.hf_opened import OpenedHuggingFace
from trimtab.export.hf_settings import write_settings
from trimtab.export.hf_tiers import refusals
from trimtab.export.hf_tokenizer import open_tokenizer, write_tokenizer
from trimtab.export.hf_weights import WEIGHTS, write_weights
from trimtab.translator import LoadedModel


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """Pegasus for models whose norms stand before their sub-layers, MarianMT for the others; see `hf_tiers`."""

    name: str = "hf"
    weights: tuple[str, ...] = (WEIGHTS,)

    def check(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that neither class can express."""
        require_transformers()
        return refusals(recipe, tokenizers)

    def write(self, model: LoadedModel, folder: Path) -> None:
        """Weights, settings of model and search, tokenizer."""
        write_weights(model.model, folder, num_source_ids=model.tokenizers.source.num_ids)
        write_settings(model, folder)
        write_tokenizer(model.tokenizers, folder, max_tokens=model.recipe.data.max_tokens)

    def open(self, folder: Path) -> OpenedHuggingFace:
        """What `from_pretrained` makes of the folder, on the CPU in float32."""
        return OpenedHuggingFace(
            open_hugging_face(folder, device=torch.device("cpu")), open_tokenizer(folder)
        )

    def usage(self, folder: str, *, tags: Sequence[str] = ()) -> str:
        """Python that translates a line, the tags before it."""
        name, line = json.dumps(folder, ensure_ascii=False), json.dumps(" ".join([*tags, "A line."]))
        return (
            "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
            f"tokenizer = AutoTokenizer.from_pretrained({name})\n"
            f"model = AutoModelForSeq2SeqLM.from_pretrained({name})\n"
            f'batch = tokenizer([{line}], return_tensors="pt", padding=True, truncation=True)\n'
            "print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))"
        )

    def limits(self, model: LoadedModel) -> list[str]:
        """What of the trainer's search and text has no place in such a folder."""
        longest = model.recipe.data.max_tokens
        told = [
            f"It reads at most {longest} tokens; the tokenizer's `truncation=True` cuts longer lines off, "
            "`trimtab translate` cuts them in pieces.",
            "`generate` knows no limit by the length of the source, and takes what it cuts off for finished: where the "
            f"model repeats itself it may give {longest} tokens without an end. `trimtab translate` lets no "
            "translation grow beyond twice the source and ten, and scores none without its end.",
            "`early_stopping: never` in `generation_config.json` makes `generate` search as far as the trainer does; "
            "`early_stopping=True` is faster and may give a shorter translation.",
            "The tokenizer takes a line that begins with `>>` and has `<<` in it for one with a language code, as "
            "those of MarianMT do.",
            '`pipeline("translation")` exists in transformers 4 only; the code above is for 4 and 5.',
        ]
        if model.tokenizers.source.symbols:
            told.append(
                "Tags and special symbols are symbols wherever they stand in a line: "
                + ", ".join(f"`{each}`" for each in model.tokenizers.source.symbols)
                + ". `trimtab translate` takes them by --tag only."
            )
        if model.recipe.model.norm_position == "after":
            told.append(
                "Converters of MarianMT models that take the decoder's first vector to be zero, as that of CTranslate2 "
                "does, would give other scores: this model starts from a symbol with a vector of its own."
            )
        return told
