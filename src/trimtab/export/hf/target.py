"""`--to hf`: a folder that Hugging Face's transformers loads without any code of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import assert_never

import torch

from trimtab.config.load import load_recipe
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.tokenizers import Tokenizers
from trimtab.device import choose_device
from trimtab.errors import Problem
from trimtab.export.hf import llama, marian, module, module_text
from trimtab.export.hf.library import CONFIG, WEIGHTS, require_transformers
from trimtab.export.hf.llama_engine import LlamaModel
from trimtab.export.hf.llama_opened import OpenedText
from trimtab.export.hf.llama_shape import class_name
from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.export.hf.marian_files import CLASSES
from trimtab.export.hf.marian_opened import OpenedHuggingFace
from trimtab.export.manifest import RECIPE
from trimtab.export.plain_files import read_object
from trimtab.export.target import TargetCard, Trained
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.module.x_transformers import XDecoder, XTranslator

LIBRARY = "transformers"


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """Pegasus and MarianMT for encoder-decoders, Llama and Qwen3 for decoders, and for a pretrained model that a
    module of transformers computes what it was; see `marian`, `llama`, `module` and `module_text`."""

    name: str = "hf"
    files: tuple[str, ...] = (WEIGHTS,)

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that no class can express."""
        require_transformers()
        return form_of(recipe).supports(recipe, tokenizers)

    def write(self, trained: Trained, folder: Path) -> None:
        """Weights, settings of model and search, tokenizer."""
        match trained.model:
            case DecoderOnly() as model:
                llama.write(model, trained.tokenizer, folder, window=trained.recipe.data.max_tokens)
            case EncoderDecoder() as model:
                marian.write(trained, model, folder)
            case Seq2SeqModule() as model:
                module.write(trained, model, folder)
            case CausalModule() as model:
                module_text.write(trained, model, folder)
            case XDecoder() | XTranslator():
                raise AssertionError("refused with the recipe")
            case _:
                assert_never(trained.model)

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> HuggingFaceModel | LlamaModel | module.ModuleEngine:
        """The class of the recipe with the weights of the folder, in float32."""
        return form_of(recipe).open_engine(folder, recipe, tokenizers, device=device or choose_device())

    def as_users_open_it(self, folder: Path) -> OpenedHuggingFace | OpenedText:
        """What `from_pretrained` makes of the folder, on the CPU in float32."""
        recipe = load_recipe(folder / RECIPE).recipe
        if isinstance(recipe.model, TransformersModel):
            return module.as_users_open_it(folder) if recipe.model.has_encoder else OpenedText(folder)
        translates = read_object(folder, CONFIG)["model_type"] in CLASSES
        return marian.as_users_open_it(folder) if translates else OpenedText(folder)

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """How transformers uses the folder, and where it differs from the trainer."""
        match trained.model:
            case DecoderOnly() | CausalModule() as model:
                limits = tuple(llama.limits(trained.tokenizer, window=trained.recipe.data.max_tokens))
                usage, class_name = llama.usage(name), class_of(model)
                return TargetCard(library=LIBRARY, usage=usage, limits=limits, class_name=class_name)
            case Seq2SeqModule():
                usage = marian.usage(name, tags=module.reads_prefix(trained))
                return TargetCard(library=LIBRARY, usage=usage, limits=module.limits(trained))
            case EncoderDecoder():
                usage = marian.usage(name, tags=tags)
                return TargetCard(library=LIBRARY, usage=usage, limits=marian.limits(trained))
            case XDecoder() | XTranslator():
                raise AssertionError("refused with the recipe")
            case _:
                assert_never(trained.model)


def class_of(model: DecoderOnly | CausalModule) -> str:
    """The class of transformers that computes a language model."""
    if isinstance(model, CausalModule):
        return module_text.class_name(model.config)
    return class_name(model.config)


def form_of(recipe: Recipe) -> ModuleType:
    """What knows the files of the recipe's kind of model."""
    if isinstance(recipe.model, TransformersModel):
        return module if recipe.model.has_encoder else module_text
    return marian if recipe.model.has_encoder else llama
