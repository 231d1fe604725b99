"""The tokenizers of a pretrained model of transformers in a run's `tokenizer/`: its files as they were, and a card for
each side."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.config.pretrained.module_shapes import GENERATION
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.pretrained.trocr_shapes import PREPROCESSOR, PROCESSOR
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.cache import committed
from trimtab.data.input_file import open_input
from trimtab.data.sentencepiece_model import CARD_FILE
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.side_tokenizers import M2M100, MARIAN, TABLE, TARGET_TABLE, Side, read_side
from trimtab.errors import input_error

FILES = "files"
"""Copies of what a pretrained model of transformers says of its tokenizer, in the folder of a tokenizer or above it."""

LANGUAGES = ("source_language", "target_language", "source_prefix")
"""Keys of `data.tokenizer` that a card keeps."""
TOKENIZER_FILES = (
    CONFIG, GENERATION, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    PREPROCESSOR, PROCESSOR, "vocab.txt", "merges.txt", "spiece.model", M2M100, TABLE, TARGET_TABLE, *MARIAN.values(),
)  # fmt: skip
"""Of a folder in the form of Hugging Face, all but the weights."""


def load_side(folder: Path, files: Path) -> SideTokenizer:
    """One side of a pretrained model by the files that were copied and the card in its folder."""
    with open_input(folder / CARD_FILE) as file:
        text = file.read()
    try:
        said: Any = json.loads(text)
        side, task, fingerprint = str(said["side"]), str(said["task"]), str(said["fingerprint"])
        config = PretrainedTokenizer(path=str(files), **{key: said[key] for key in LANGUAGES})
        if side not in ("source", "target"):
            raise ValueError(f"the side {side!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise input_error(
            f"{folder / CARD_FILE}: not the file that trimtab writes with a tokenizer",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            fix="put back the files of this run",
        ) from None
    tokenizer = read_side(config, side, task=task)
    if tokenizer.fingerprint != fingerprint:
        raise input_error(
            f"{files}: not the tokenizer that was stored here",
            got=f"sha256 {tokenizer.fingerprint[:16]}",
            allowed=f"{fingerprint[:16]}, as {folder / CARD_FILE} says",
            fix="restore the files from a copy",
        )
    return tokenizer


def adopt_sides(
    config: PretrainedTokenizer, sides: Mapping[Side, Path], files: Path, *, task: str
) -> list[SideTokenizer]:
    """Copies the tokenizer files of a pretrained model into `files`, and writes a card into the folder of each side."""
    made = [read_side(config, side, task=task) for side in sides]
    files.mkdir(parents=True, exist_ok=True)
    here = Path(config.path)
    for name in (each for each in TOKENIZER_FILES if (here / each).is_file()):
        with open_input(here / name) as given, committed(files / name) as file:
            file.write(given.read())
    for tokenizer, (side, folder) in zip(made, sides.items(), strict=True):
        folder.mkdir(parents=True, exist_ok=True)
        card = {"kind": "side", "side": side, "task": task, "num_ids": tokenizer.num_ids}
        card |= {key: getattr(config, key) for key in LANGUAGES}
        card |= {"fingerprint": tokenizer.fingerprint, "adopted_from": config.path}
        with committed(folder / CARD_FILE) as file:
            file.write((json.dumps(card, indent=2, ensure_ascii=False) + "\n").encode())
    return made
