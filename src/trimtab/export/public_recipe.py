"""The recipe as an export shows it: without the places of files on the machine of the training."""

from pathlib import PurePath

from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import ByteLevel, PretrainedTokenizer, SentencePieceTokenizer
from trimtab.config.transformers_model import TransformersModel


def public(recipe: Recipe) -> Recipe:
    """The recipe with the folder and the name of each file in place of its whole path, which says where it lay on the
    machine of the training."""
    data = recipe.data
    tokenizers = {
        key: each.model_copy(update={"path": each.path and short(each.path)})
        for key in ("tokenizer", "source_tokenizer")
        if isinstance(each := getattr(data, key), SentencePieceTokenizer | ByteLevel | PretrainedTokenizer)
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
    if isinstance(model, PretrainedModel | TransformersModel):
        model = model.model_copy(update={"path": short(model.path)})
    return recipe.model_copy(update={"data": shown, "model": model})


def short(path: str) -> str:
    """`/home/someone/corpora/prose/train.en.xz` is `prose/train.en.xz`."""
    parts = [part for part in PurePath(path).parts if part not in ("/", "..", "~")]
    return "/".join(parts[-2:])
