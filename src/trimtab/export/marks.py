"""What makes a folder an export that `trimtab translate` and `evaluate` take like a run."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, TypeVar

from trimtab import __version__
from trimtab.config.corpora import ParallelFiles
from trimtab.config.render import render_recipe
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.engines.plain_files import sha256_of
from trimtab.export.hf_tokenizer import SOURCE, TARGET
from trimtab.translator import LoadedModel
from trimtab.translator.export_card import CARD, FORMAT, RECIPE

Files = TypeVar("Files", bound=ParallelFiles)


def write_recipe(model: LoadedModel, folder: Path) -> None:
    """Writes the recipe of the run into the folder `trimtab` of the export, which it makes."""
    (folder / RECIPE).parent.mkdir()
    (folder / RECIPE).write_text(render_recipe(public(model.recipe)), encoding="utf-8")


def write_card(model: LoadedModel, folder: Path, *, target: str, name: str, weights: Sequence[str]) -> None:
    """Writes what makes the folder an export, last of all: until then nothing takes it for one."""
    files = [(SOURCE, model.tokenizers.source)]
    if not model.tokenizers.shared:
        files.append((TARGET, model.tokenizers.target))
    card = {
        "format": FORMAT,
        "target": target,
        "name": name,
        "step": model.checkpoint.step,
        "trimtab": __version__,
        "weights": _file(folder, weights[0]),
        **({"others": [_file(folder, each) for each in weights[1:]]} if weights[1:] else {}),
        "tokenizers": [_tokenizer(file, each) for file, each in files],
    }
    (folder / CARD).write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def public(recipe: Recipe) -> Recipe:
    """The recipe with the folder and the name of each file in place of its whole path, which says where it lay on the
    machine of the training."""
    data = recipe.data
    tokenizers = {
        key: each.model_copy(update={"path": each.path and short(each.path)})
        for key in ("tokenizer", "source_tokenizer")
        if isinstance(each := getattr(data, key), SentencePieceTokenizer)
    }
    shown = data.model_copy(
        update={
            "train": tuple(corpus.with_paths(short) for corpus in data.train),
            "valid": {name: files.with_paths(short) for name, files in data.valid.items()},
            **tokenizers,
        }
    )
    model = recipe.model.model_copy(
        update={"warm_start": recipe.model.warm_start and short(recipe.model.warm_start)}
    )
    return recipe.model_copy(update={"data": shown, "model": model})


def short(path: str) -> str:
    """`/home/someone/corpora/prose/train.en.xz` is `prose/train.en.xz`."""
    parts = [part for part in PurePath(path).parts if part not in ("/", "..", "~")]
    return "/".join(parts[-2:])


def _file(folder: Path, name: str) -> dict[str, str]:
    return {"file": name, "sha256": sha256_of(folder / name)}


def _tokenizer(file: str, tokenizer: SentencePiece) -> dict[str, Any]:
    return {"file": file, "sha256": tokenizer.fingerprint, "symbols": list(tokenizer.symbols)}
