"""The tokenizer of a pretrained model, from a folder in the form of Hugging Face or from a GGUF file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from trimtab.config.pretrained.gguf_header import read_gguf_header
from trimtab.config.pretrained.place import GGUF
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.chat_template import Refused, render_chat
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.formats.chat import Message
from trimtab.data.gguf_tokenizer import gguf_parts
from trimtab.data.input_file import open_input
from trimtab.errors import input_error

FILE, SETTINGS, MAP, TEMPLATE = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)
NAMES = {"pad": "pad_token", "unknown": "unk_token", "start": "bos_token", "end": "eos_token"}


def read_pretrained(config: PretrainedTokenizer, *, key: str) -> FastTokenizer:
    """The tokenizer of a folder or a GGUF file.

    Raises InputError if there is none, it has no end symbol, or more ids than the model has rows.
    """
    path = Path(config.path)
    tokenizer = _of_gguf(path, config, key=key) if path.suffix == GGUF else _of_folder(path, config, key=key)
    if tokenizer.num_ids < tokenizer.num_pieces:
        raise input_error(
            f"{key}: {path} has more pieces than the model has rows",
            got=f"{tokenizer.num_pieces:,} pieces and {tokenizer.num_ids:,} rows",
            allowed="at most as many",
            fix="take the tokenizer that belongs to the model",
        )
    piece, id = tokenizer.highest
    if id >= tokenizer.num_ids:
        raise input_error(
            f"{key}: {path} has ids that the model has no rows for",
            got=f"{id:,} for {piece!r}, and {tokenizer.num_ids:,} rows"[:200],
            allowed=f"ids up to {tokenizer.num_ids - 1:,}",
            fix="take the tokenizer that belongs to the model",
        )
    return tokenizer


def _of_folder(folder: Path, config: PretrainedTokenizer, *, key: str) -> FastTokenizer:
    if not (folder / FILE).is_file():
        raise input_error(
            f"{key}.path: {folder} has no {FILE}",
            got=", ".join(sorted(each.name for each in folder.glob("*token*"))[:5]) or "no tokenizer",
            allowed=f"a folder with {FILE}, or a .gguf file",
            fix="write it: `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`",
        )
    with open_input(folder / FILE) as file:
        content = file.read()
    settings = {**read_object(folder / MAP), **read_object(folder / SETTINGS)}
    template = settings.get("chat_template") or ""
    if (folder / TEMPLATE).is_file():
        with open_input(folder / TEMPLATE) as file:
            template = file.read().decode("utf-8", errors="replace")
    known = ids_of(content)
    if not known:
        raise input_error(
            f"{key}.path: {folder / FILE} holds no tokenizer",
            got="a file that the library `tokenizers` cannot read",
            allowed="the tokenizer.json that belongs to the model",
            fix="download the file again",
        )
    symbols = {name: known.get(spelled(settings.get(named))) for name, named in NAMES.items()}
    if symbols["end"] is None:
        symbols["end"] = _end_of_model(folder, known)
    made = FastTokenizer(
        content,
        special=special_ids(symbols, name=f"{key}: {folder}"),
        num_ids=config.vocabulary_size or max(known.values()) + 1,
        template=_default(template),
        name=str(folder / FILE),
    )
    return made if symbols["start"] is not None else beginning_as_chats(made)


def _end_of_model(folder: Path, known: Mapping[str, int]) -> int | None:
    """The end symbol that the settings of the model name by its id, where those of the tokenizer name none."""
    for name in ("generation_config.json", "config.json"):
        told: Any = read_object(folder / name).get("eos_token_id")
        first: Any = cast("list[Any]", told)[0] if isinstance(told, list) and told else told
        if type(first) is int and first in known.values():
            return first
    return None


def _of_gguf(path: Path, config: PretrainedTokenizer, *, key: str) -> FastTokenizer:
    parts = gguf_parts(read_gguf_header(path), name=f"{key}: {path}")
    return FastTokenizer(
        parts.content,
        special=special_ids(parts.symbols, name=f"{key}: {path}"),
        num_ids=config.vocabulary_size or parts.num_ids,
        template=parts.template,
        name=str(path),
    )


def special_ids(found: Mapping[str, int | None], *, name: str) -> SpecialIds:
    """The special ids, where a vocabulary may lack some: a text then begins behind the end symbol, as with GPT-2, and
    what only fills rows up, or stands for the unknown in a vocabulary that spells everything, is the end symbol too.
    Raises InputError without an end symbol."""
    end = found.get("end")
    if end is None:
        raise input_error(
            f"{name} names no end symbol",
            got="no eos_token",
            allowed="an eos_token that is in the vocabulary",
            fix=f"add `eos_token` to {SETTINGS}",
        )
    filled = {key: end if found.get(key) is None else found[key] for key in ("pad", "unknown", "start")}
    return SpecialIds(end=end, **filled)  # pyright: ignore[reportArgumentType]


def beginning_as_chats(tokenizer: FastTokenizer) -> FastTokenizer:
    """A tokenizer without a start symbol, whose texts then begin behind the symbol that its chats begin with; so that a
    chat is what it is elsewhere, and no symbol is put before it."""
    if not tokenizer.template:
        return tokenizer
    symbols = tokenizer.piece(tokenizer.start), tokenizer.piece(tokenizer.end)
    try:
        text = render_chat(tokenizer.template, [Message("user", "a")], symbols=symbols, answer=False)
    except Refused:
        return tokenizer
    first = tokenizer.encode_chat(text)[:1]
    if not first or first[0] not in tokenizer.special_ids:
        return tokenizer
    special = replace(tokenizer.special, start=first[0])
    return FastTokenizer(
        tokenizer.content, special=special, num_ids=tokenizer.num_ids, template=tokenizer.template
    )


def ids_of(content: bytes) -> dict[str, int]:
    """Spellings and ids of a tokenizer.json; its own reader says what is wrong with one that has none."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(content.decode("utf-8")).get_vocab(with_added_tokens=True)
    except Exception:  # the library raises plain exceptions
        return {}


def spelled(token: Any) -> str:
    """The spelling of a symbol, which settings give as a text or as an object."""
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


def _default(template: Any) -> str:
    """The template of that name, where there are several."""
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, Mapping)}
        return str(named.get("default") or "")
    return str(template)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file of settings, nothing where there is none; InputError if it is no JSON."""
    if not path.is_file():
        return {}
    with open_input(path) as file:
        try:
            found = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise input_error(
                f"{path}: not valid JSON", got=str(error)[:200], fix="download it again"
            ) from None
    return found if isinstance(found, dict) else {}
