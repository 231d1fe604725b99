"""The tokenizers of the training beside an export, under the names that every target gives them."""

from pathlib import Path

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tokenizers import Tokenizers

SOURCE, TARGET = "source.spm", "target.spm"
FAST = "tokenizer.json"
"""Of a pretrained model and of byte-level vocabularies, whose tokenizer is the library's own file."""


def tokenizer_files(tokenizers: Tokenizers) -> dict[str, AnyTokenizer]:
    """Each tokenizer by its file; one where both sides share it."""
    assert not isinstance(tokenizers.source, SideTokenizer), "it keeps the files that it came with"
    shared = {FAST if isinstance(tokenizers.source, FastTokenizer) else SOURCE: tokenizers.source}
    return shared if tokenizers.shared else {**shared, TARGET: tokenizers.target}


def write_models(tokenizers: Tokenizers, folder: Path, *, both: bool = False) -> None:
    """Writes the models; that of the target too where it is the same and the library looks for `both`."""
    files = tokenizer_files(tokenizers)
    if both and FAST not in files:
        files = {SOURCE: tokenizers.source, TARGET: tokenizers.target}
    for name, tokenizer in files.items():
        content = tokenizer.content if isinstance(tokenizer, FastTokenizer) else tokenizer.model
        (folder / name).write_bytes(content)
