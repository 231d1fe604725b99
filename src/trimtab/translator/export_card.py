"""The card of an export: which files belong to it, and the proof that they are those that were exported."""

import hashlib
from pathlib import Path
from typing import Any

from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.engines.plain_files import plain_file, read_object, sha256_of
from trimtab.errors import InputError, input_error

CARD = Path("trimtab") / "export.json"
"""What makes a folder an export: which target it is for, and what belongs to it. It is written last of all."""
RECIPE = Path("trimtab") / "trained.yaml"
"""The recipe of the run, the paths of its data shortened."""
FORMAT = 1
MOST_BYTES = 2**26
"""A sentencepiece model takes a few megabytes at most."""


def read_card(folder: Path) -> dict[str, Any]:
    """The card, its types checked; InputError where it is not what this version writes."""
    card = read_object(folder, str(CARD))
    if not {"format", "target", "tokenizers", "weights"} <= card.keys():
        raise unknown_card(folder, got="other keys")
    if type(card["format"]) is not int or card["format"] != FORMAT:
        raise unknown_card(folder, got=f"format {card['format']!r}"[:80])
    if not isinstance(card["target"], str):
        raise unknown_card(folder, got="a target that is no text")
    tokenizers: Any = card["tokenizers"]
    if not isinstance(tokenizers, list) or len(tokenizers) not in (1, 2):
        raise unknown_card(folder, got="no list of one or two tokenizers")
    others: Any = card.get("others", [])
    if not isinstance(others, list):
        raise unknown_card(folder, got="others that are no list of files")
    for said in (card["weights"], *others, *tokenizers):
        _check_file(folder, said)
    for said in tokenizers:
        symbols = said.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
            raise unknown_card(folder, got="symbols that are no list of texts")
    return card


def check_weights(folder: Path, card: dict[str, Any]) -> None:
    """InputError where the weights are not those that were exported."""
    for said in (card["weights"], *card.get("others", [])):
        path = plain_file(folder, said["file"])
        if (found := sha256_of(path)) != said["sha256"]:
            raise _another(path, "weights", found=found, said=said["sha256"])


def read_tokenizers(folder: Path, card: dict[str, Any]) -> Tokenizers:
    """The tokenizers that the card names; InputError where one is missing or another."""
    found: list[SentencePiece] = []
    for said in card["tokenizers"]:
        path = plain_file(folder, said["file"], most=MOST_BYTES)
        content = path.read_bytes()
        if (digest := hashlib.sha256(content).hexdigest()) != said["sha256"]:
            raise _another(path, "tokenizer", found=digest, said=said["sha256"])
        tokenizer = SentencePiece(content, symbols=said["symbols"], name=str(path))
        for symbol in said["symbols"]:
            tokenizer.id(symbol)
        found.append(tokenizer)
    return Tokenizers(found[0], found[-1])


def unknown_card(folder: Path, *, got: str) -> InputError:
    """The error for a card that this version cannot use."""
    return input_error(
        f"{folder / CARD}: not what this version of trimtab writes",
        got=got,
        allowed=f"an export of format {FORMAT} for hf, ctranslate2 or onnx",
        fix="export the run once more",
    )


def _check_file(folder: Path, said: Any) -> None:
    known = isinstance(said, dict) and all(isinstance(said.get(key), str) for key in ("file", "sha256"))
    if not known:
        raise unknown_card(folder, got="a file without a name and its sha256")
    name = said["file"]
    if not name.isprintable() or len(name) > 100 or name in ("", ".", "..") or set(name) & {"/", "\\"}:
        raise unknown_card(folder, got=f"the file name {name[:60]!r}")


def _another(path: Path, what: str, *, found: str, said: str) -> InputError:
    return input_error(
        f"{path}: not the {what} that {'were' if what == 'weights' else 'was'} exported",
        got=f"sha256 {found[:16]}",
        allowed=f"{said[:16]}, as {CARD} says",
        fix="put the file back, or export the run once more",
    )
