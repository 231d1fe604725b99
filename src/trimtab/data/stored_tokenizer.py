"""The tokenizer in a run's `tokenizer/`, of whichever kind it is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trimtab.config.pretrained.place import CONFIG
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.cache import committed
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.input_file import open_input
from trimtab.data.pretrained_tokenizer import read_pretrained
from trimtab.data.sentencepiece_model import CARD_FILE, SentencePiece, load_tokenizer
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.stored_sides import FILES, load_side
from trimtab.errors import input_error, reading

FAST_FILE = "fast_tokenizer.json"
"""The tokenizer.json of a pretrained model; that name is the card's."""
AnyTokenizer = SentencePiece | FastTokenizer | SideTokenizer


def load_stored(folder: Path) -> AnyTokenizer:
    """The tokenizer of a folder. Raises InputError if it is missing, damaged, or not the one that the card beside it
    speaks of."""
    with reading(folder):
        for files in (folder / FILES, folder.parent / FILES):
            if (files / CONFIG).exists() and (folder / CARD_FILE).exists():
                return load_side(folder, files)
        if not (folder / FAST_FILE).exists():
            return load_tokenizer(folder)
        with open_input(folder / FAST_FILE) as file:
            content = file.read()
        with open_input(folder / CARD_FILE) as file:
            text = file.read()
    return of_card(content, text, name=str(folder / FAST_FILE))


def of_card(content: bytes, card: bytes | str, *, name: str) -> FastTokenizer:
    """A pretrained tokenizer by its file and its card; InputError if they do not belong together."""
    try:
        said: Any = json.loads(card)
        special = SpecialIds(**{key: int(said[key]) for key in ("pad", "unknown", "start", "end")})
        num_ids, template, fingerprint = (
            int(said["num_ids"]),
            str(said["chat_template"]),
            str(said["fingerprint"]),
        )
        symbols = [str(each) for each in said.get("symbols", ())]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise input_error(
            f"{name}: its card is not the file that trimtab writes with a tokenizer",
            got=f"{type(error).__name__}: {error}"[:200],
            fix="put back the files of this run",
        ) from None
    tokenizer = FastTokenizer(
        content, special=special, num_ids=num_ids, template=template, symbols=symbols, name=name
    )
    if tokenizer.fingerprint != fingerprint:
        raise input_error(
            f"{name}: not the tokenizer that was stored here",
            got=f"sha256 {tokenizer.fingerprint[:16]}",
            allowed=f"{fingerprint[:16]}, as its card says",
            fix="restore the file from a copy, or name another tokenizer",
        )
    return tokenizer


def adopt_pretrained(config: PretrainedTokenizer, out: Path, *, key: str) -> FastTokenizer:
    """Copies the tokenizer that the recipe names into the folder `out`; raises InputError like `read_pretrained`."""
    tokenizer = read_pretrained(config, key=key)
    store_fast(tokenizer, out, adopted_from=config.path)
    return tokenizer


def store_fast(tokenizer: FastTokenizer, folder: Path, **origin: Any) -> None:
    """Writes the file and its card, which says where it comes from; the card first, so that a folder with a tokenizer
    is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    with committed(folder / CARD_FILE) as file:
        file.write((json.dumps(card_of(tokenizer, **origin), indent=2, ensure_ascii=False) + "\n").encode())
    with committed(folder / FAST_FILE) as file:
        file.write(tokenizer.content)


def card_of(tokenizer: FastTokenizer, **origin: Any) -> dict[str, Any]:
    """What a card says of a tokenizer."""
    return {
        "kind": "pretrained",
        "num_ids": tokenizer.num_ids,
        **asdict(tokenizer.special),
        "chat_template": tokenizer.template,
        **({"symbols": list(tokenizer.symbols)} if tokenizer.symbols else {}),
        "fingerprint": tokenizer.fingerprint,
        **origin,
    }
