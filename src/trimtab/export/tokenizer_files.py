"""The sentencepiece models of the training beside an export, under the names that every target gives them."""

from pathlib import Path

from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers

SOURCE, TARGET = "source.spm", "target.spm"


def tokenizer_files(tokenizers: Tokenizers) -> dict[str, SentencePiece]:
    """Each tokenizer by its file; one where both sides share it."""
    shared = {SOURCE: tokenizers.source}
    return shared if tokenizers.shared else {**shared, TARGET: tokenizers.target}


def write_models(tokenizers: Tokenizers, folder: Path, *, both: bool = False) -> None:
    """Writes the models; that of the target too where it is the same and the library looks for `both`."""
    files = {SOURCE: tokenizers.source, TARGET: tokenizers.target} if both else tokenizer_files(tokenizers)
    for name, tokenizer in files.items():
        (folder / name).write_bytes(tokenizer.model)
