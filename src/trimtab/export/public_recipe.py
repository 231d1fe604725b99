"""The recipe as an export shows it: without the places of files on the machine of the training."""

from pathlib import PurePath
from typing import Any, TypeVar

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import SentencePieceTokenizer

Files = TypeVar("Files", bound=ParallelFiles)


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
            "train": tuple(_shown(corpus) for corpus in data.train),
            "valid": {name: _shown(files) for name, files in data.valid.items()},
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


def _shown(files: Files) -> Files:
    keys = ("documents", "dataset", "pairs")
    update: dict[str, Any] = {key: short(path) for key in keys if (path := getattr(files, key)) is not None}
    if not update:
        update = {side: short(str(getattr(files, side))) for side in ("source", "target")}
    if isinstance(files, TrainCorpus | ValidFiles) and files.text is not None:
        update["text"] = short(files.text)
    return files.model_copy(update=update)
