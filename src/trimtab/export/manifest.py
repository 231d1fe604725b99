"""The manifest of an export, `trimtab/export.json`: which files belong to it, and their fingerprints."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from trimtab import __version__
from trimtab.config.export_targets import ExportTarget
from trimtab.config.render import render_recipe
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.side_tokenizers import M2M100, MARIAN, read_side
from trimtab.data.stored_sides import LANGUAGES
from trimtab.data.stored_tokenizer import AnyTokenizer, card_of, of_card
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import InputError, input_error
from trimtab.export.plain_files import plain_file, read_object, sha256_of, write_object
from trimtab.export.public_recipe import public
from trimtab.export.target import Trained
from trimtab.export.tokenizer_files import tokenizer_files

MANIFEST = Path("trimtab") / "export.json"
"""What makes a folder an export: which target it is for, and what belongs to it. It is written last of all."""
RECIPE = Path("trimtab") / "trained.yaml"
"""The recipe of the run, the paths of its data shortened."""
FORMAT = 1
MOST_BYTES = 2**26
"""A sentencepiece model takes a few megabytes at most."""


def write_recipe(trained: Trained, folder: Path) -> None:
    """Writes the recipe of the run into the folder `trimtab` of the export, which it makes."""
    (folder / RECIPE).parent.mkdir()
    (folder / RECIPE).write_text(render_recipe(public(trained.recipe)), encoding="utf-8")


def write_manifest(trained: Trained, folder: Path, *, target: str, name: str, files: Sequence[str]) -> None:
    """Writes what makes the folder an export, last of all: until then nothing takes it for one."""
    card = {
        "format": FORMAT,
        "target": target,
        "name": name,
        "step": trained.checkpoint.step,
        "trimtab": __version__,
        "weights": _file(folder, files[0]),
        **({"others": [_file(folder, each) for each in files[1:]]} if files[1:] else {}),
        "tokenizers": _sides(trained, folder)
        if isinstance(trained.tokenizers.source, SideTokenizer)
        else [_tokenizer(file, each) for file, each in tokenizer_files(trained.tokenizers).items()],
    }
    write_object(folder / MANIFEST, card)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The card, its types checked; InputError if it is not what this version writes."""
    card = read_object(folder, str(MANIFEST))
    if not {"format", "target", "tokenizers", "weights"} <= card.keys():
        raise unknown_manifest(folder, got="other keys")
    if type(card["format"]) is not int or card["format"] != FORMAT:
        raise unknown_manifest(folder, got=f"format {card['format']!r}"[:80])
    if not isinstance(card["target"], str):
        raise unknown_manifest(folder, got="a target that is no text")
    tokenizers: Any = card["tokenizers"]
    if not isinstance(tokenizers, list) or len(tokenizers) not in (1, 2):
        raise unknown_manifest(folder, got="no list of one or two tokenizers")
    others: Any = card.get("others", [])
    if not isinstance(others, list):
        raise unknown_manifest(folder, got="others that are no list of files")
    for said in (card["weights"], *others, *tokenizers):
        _check_file(folder, said)
    for said in tokenizers:
        symbols = said.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
            raise unknown_manifest(folder, got="symbols that are no list of texts")
    return card


def check_weights(folder: Path, card: dict[str, Any], names: Sequence[str]) -> None:
    """InputError if the weights are not those that were exported, or not in the files of the target: those whose
    fingerprint is taken must be those that are opened."""
    others = [each["file"] for each in card.get("others", [])]
    if names[1:] and others != list(names[1:]):
        raise unknown_manifest(folder, got=f"other files: {', '.join(others)}"[:200])
    if card["weights"]["file"] != names[0]:
        raise unknown_manifest(folder, got=f"weights in {card['weights']['file']}")
    for said in (card["weights"], *card.get("others", [])):
        path = plain_file(folder, said["file"])
        if (found := sha256_of(path)) != said["sha256"]:
            raise _another(path, "weights", found=found, said=said["sha256"])


def read_tokenizers(folder: Path, card: dict[str, Any]) -> Tokenizers:
    """The tokenizers that the card names; InputError if one is missing or another."""
    found: list[AnyTokenizer] = []
    for said in card["tokenizers"]:
        path = plain_file(folder, said["file"], most=MOST_BYTES)
        content = path.read_bytes()
        if (digest := hashlib.sha256(content).hexdigest()) != said["sha256"]:
            raise _another(path, "tokenizer", found=digest, said=said["sha256"])
        if "languages" in said:
            found.append(_side(folder, said))
            continue
        if "card" in said:
            found.append(of_card(content, json.dumps(said["card"]), name=str(path)))
            continue
        tokenizer = SentencePiece(content, symbols=said["symbols"], name=str(path))
        for symbol in said["symbols"]:
            tokenizer.id(symbol)
        found.append(tokenizer)
    return Tokenizers(found[0], found[-1])


def _side(folder: Path, said: dict[str, Any]) -> SideTokenizer:
    """One side of a pretrained translator."""
    side, languages = said["side"], said["languages"]
    if side not in ("source", "target") or not isinstance(languages, dict):
        raise unknown_manifest(folder, got=f"a tokenizer of the side {side!r}"[:60])
    try:
        config = PretrainedTokenizer(path=str(folder), **languages)
    except (ValueError, TypeError):
        raise unknown_manifest(folder, got="languages that are none") from None
    tokenizer = read_side(config, side, task="translation")
    if tokenizer.fingerprint != said.get("fingerprint"):
        raise _another(folder, "tokenizer", found=tokenizer.fingerprint, said=str(said.get("fingerprint")))
    return tokenizer


def _sides(trained: Trained, folder: Path) -> list[dict[str, Any]]:
    """The tokenizers of a pretrained translator: a file that is there, and what else follows from the recipe."""
    config = trained.recipe.data.tokenizer
    file = next(name for name in ("tokenizer.json", MARIAN["source"], M2M100) if (folder / name).is_file())
    both = (("source", trained.tokenizers.source), ("target", trained.tokenizers.target))
    return [
        {
            **_file(folder, file),
            "symbols": [],
            "side": side,
            "languages": {key: getattr(config, key) for key in LANGUAGES},
            "fingerprint": tokenizer.fingerprint,
        }
        for side, tokenizer in both
    ]


def without_base(folder: Path) -> InputError:
    """The error for an adapter that is taken for a model."""
    return input_error(
        f"{folder}: an adapter without its model",
        got="an export for peft",
        allowed="a model and an adapter",
        fix=f"name the model, and `--adapter {folder}`",
    )


def unknown_manifest(folder: Path, *, got: str) -> InputError:
    """The error for a card that this version cannot use."""
    *first, last = get_args(ExportTarget)
    return input_error(
        f"{folder / MANIFEST}: not what this version of trimtab writes",
        got=got,
        allowed=f"an export of format {FORMAT} for {', '.join(first)} or {last}",
        fix="export the run again",
    )


def _tokenizer(file: str, tokenizer: AnyTokenizer) -> dict[str, Any]:
    """A tokenizer by its file, and what is not in that file."""
    if isinstance(tokenizer, FastTokenizer):
        digest = hashlib.sha256(tokenizer.content).hexdigest()
        return {"file": file, "sha256": digest, "symbols": [], "card": card_of(tokenizer)}
    return {"file": file, "sha256": tokenizer.fingerprint, "symbols": list(tokenizer.symbols)}


def _file(folder: Path, name: str) -> dict[str, str]:
    return {"file": name, "sha256": sha256_of(folder / name)}


def _check_file(folder: Path, said: Any) -> None:
    known = isinstance(said, dict) and all(isinstance(said.get(key), str) for key in ("file", "sha256"))
    if not known:
        raise unknown_manifest(folder, got="a file without a name and its sha256")
    name = said["file"]
    if not name.isprintable() or len(name) > 100 or name in ("", ".", "..") or set(name) & {"/", "\\"}:
        raise unknown_manifest(folder, got=f"the file name {name[:60]!r}")


def _another(path: Path, what: str, *, found: str, said: str) -> InputError:
    return input_error(
        f"{path}: not the {what} that {'were' if what == 'weights' else 'was'} exported",
        got=f"sha256 {found[:16]}",
        allowed=f"{said[:16]}, as {MANIFEST} says",
        fix="restore the file, or export the run again",
    )


def check_length(folder: Path, recipe: Recipe, *, positions: int) -> None:
    """InputError if the recipe lets texts be longer than the exported model has positions for."""
    if recipe.data.max_tokens > positions:
        raise input_error(
            f"{folder / RECIPE}: data.max_tokens is more than the model has positions for",
            got=str(recipe.data.max_tokens),
            allowed=f"at most {positions}",
            fix="export the run again",
        )
