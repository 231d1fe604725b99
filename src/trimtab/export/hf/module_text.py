"""`--to hf` of a pretrained language model that transformers computes: the class that it came from, with the weights
that it has now in float32, its settings, and the very file of its tokenizer."""

import json
from pathlib import Path

import torch

from trimtab.config.export_targets import obstacles
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem
from trimtab.export.hf.library import GENERATION
from trimtab.export.hf.llama_engine import LlamaModel
from trimtab.export.hf.llama_shape import generation
from trimtab.export.hf.module import OF_FILES, write_network
from trimtab.export.hf.pretrained_tokenizer import write_pretrained_tokenizer
from trimtab.export.plain_files import write_object
from trimtab.export.target import Trained
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.network import family_of_model
from trimtab.model.text_model import build_model


def supports(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """A problem for each key that the export cannot express."""
    return obstacles("hf", model=recipe.model, transforms=recipe.data.transforms)


def write(trained: Trained, model: CausalModule, folder: Path) -> None:
    """Writes weights, settings of model and search, and the tokenizer."""
    write_network(model.network, folder, transposed=model.transposed)
    settings = {key: value for key, value in json.loads(model.config.settings).items() if key not in OF_FILES}
    own = {"dtype": "float32", "architectures": [class_name(model.config)]}
    write_object(folder / CONFIG, {**settings, **own})
    write_tokenizer(trained, folder)


def write_tokenizer(trained: Trained, folder: Path) -> None:
    """Writes the tokenizer of the model and the settings of `generate`."""
    assert isinstance(trained.tokenizer, FastTokenizer), "a pretrained model has its own"
    write_pretrained_tokenizer(trained.tokenizer, folder, window=trained.recipe.data.max_tokens)
    write_object(folder / GENERATION, generation(trained.tokenizer))


def open_engine(folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device) -> LlamaModel:
    """The model of the recipe with the weights in a folder."""
    model = build_model(recipe, tokenizers, device=torch.device("cpu"))
    assert isinstance(model, CausalModule), "other kinds have other forms"
    model.fill(str(folder))
    return LlamaModel(model.network.eval().to(device))


def class_name(config: TransformersModel) -> str:
    """The class of transformers that computes it."""
    return str(family_of_model(config).class_name)
