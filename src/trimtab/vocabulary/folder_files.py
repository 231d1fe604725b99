"""The files of a folder in the form of Hugging Face that name ids of a vocabulary, read and written again."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.config.pretrained.place import CONFIG
from trimtab.config.pretrained.shapes import read_settings
from trimtab.data.input_file import open_input
from trimtab.errors import InputError, input_error
from trimtab.export.plain_files import write_object
from trimtab.vocabulary.change import VocabularyChange
from trimtab.vocabulary.fast_vocabulary import FastVocabulary
from trimtab.vocabulary.ids import ids_of, renumbered, resized
from trimtab.vocabulary.model import named_ids
from trimtab.vocabulary.sentencepiece_vocabulary import SentencePieceVocabulary
from trimtab.vocabulary.table_vocabulary import TableVocabulary
from trimtab.vocabulary.vocabulary import Vocabulary

GENERATION, TOKENIZER_CONFIG, ADDED, FAST = (
    "generation_config.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "tokenizer.json",
)
SETTINGS = (CONFIG, GENERATION)
TABLE, MARIAN, M2M100 = "vocab.json", ("source.spm", "target.spm"), "sentencepiece.bpe.model"
OLD_FORMS = ("vocab.txt", "vocab.json", "merges.txt")
"""What `tokenizer.json` holds too, and older readers take."""
SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model")
_WEIGHTS = (
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".h5",
    ".msgpack",
    ".onnx",
    ".gguf",
    ".ot",
    ".ckpt",
    ".onnx_data",
)


def read_json(path: Path) -> dict[str, Any]:
    """A file of settings, empty where there is none; InputError if it is no JSON object."""
    return read_settings(path) if path.is_file() else {}


def read_vocabulary(folder: Path, *, rows: int) -> Vocabulary:
    """The tokenizer of a folder whose model has so many rows; InputError where there is none of a known form, where
    each side has its own, and where it has more pieces than the model has rows."""
    special = frozenset(id for name in SETTINGS for _, id in ids_of(read_json(folder / name)) if id < rows)
    found = _vocabulary(folder, special, rows=rows)
    if found.num_ids > rows:
        raise input_error(
            f"{folder}: its tokenizer has more pieces than the model has rows",
            got=f"{found.num_ids:,} pieces and {rows:,} rows",
            allowed="at most as many",
            fix="take the tokenizer that belongs to the model, or resize the model first",
        )
    return found


def _vocabulary(folder: Path, special: frozenset[int], *, rows: int) -> Vocabulary:
    if (folder / "target_vocab.json").exists():
        raise input_error(
            f"{folder}: source and target have a vocabulary each",
            got="target_vocab.json",
            allowed="a folder with one vocabulary, or a run with any that trimtab trained",
            fix="change the vocabulary of the run that it is the export of, and export that again"
            if (folder / "trimtab" / "export.json").is_file()
            else "use it as it is: `model: {kind: pretrained, path: ...}` reads and trains both vocabularies",
        )
    if all((folder / name).is_file() for name in (*MARIAN, TABLE)):
        return _table(folder, MARIAN)
    if (folder / FAST).is_file():
        return _fast(folder, special)
    if (folder / M2M100).is_file() and (folder / TABLE).is_file():
        table = _table(folder, (M2M100,))
        # Language codes and made-up words have rows, and no file names them.
        return TableVocabulary(table.table, table.models, table.files, behind=rows - len(table.table))
    return FastVocabulary(_converted(folder), FAST, special)


def _fast(folder: Path, special: frozenset[int]) -> FastVocabulary:
    found = FastVocabulary(_bytes(folder / FAST), FAST, special)
    try:
        found.ids  # noqa: B018
    except Exception as error:  # the library raises plain exceptions
        raise _damaged(
            folder / FAST, got=str(error), allowed="a tokenizer that the tokenizers library reads"
        ) from None
    return found


def _sentencepiece(content: bytes, path: Path) -> SentencePieceVocabulary:
    found = SentencePieceVocabulary(content, path.name)
    try:
        found.processor  # noqa: B018
    except RuntimeError as error:
        raise _damaged(path, got=str(error), allowed="a model that sentencepiece reads") from None
    return found


def _damaged(path: Path, *, got: str, allowed: str) -> InputError:
    return input_error(
        f"{path}: cannot be read",
        got=" ".join(got.split())[:200],
        allowed=allowed,
        fix="download the file again",
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _added_words(folder: Path) -> dict[str, int]:
    """Ids of `added_tokens.json`; InputError where one is none."""
    told = read_json(folder / ADDED)
    if odd := [word for word, id in told.items() if not _is_id(id)]:
        raise _damaged(folder / ADDED, got=f"{odd[0]}: {told[odd[0]]!r}", allowed="an id for each word")
    return told


def _decoder(told: Mapping[str, Any], path: Path) -> dict[int, Any]:
    """`added_tokens_decoder` of the tokenizer's settings by id; InputError where it is no table of tokens."""
    found: Any = told.get("added_tokens_decoder") or {}
    rows = [*cast("dict[Any, Any]", found).items()] if isinstance(found, dict) else [(found, None)]
    for id, token in rows:
        word = cast("dict[Any, Any]", token).get("content") if isinstance(token, dict) else token
        if not (str(id).isdecimal() and isinstance(word, str)):
            raise _damaged(path, got=f"added_tokens_decoder: {id}: {token!r}", allowed="a token for each id")
    return {int(id): token for id, token in rows}


def _table(folder: Path, names: tuple[str, ...]) -> TableVocabulary:
    table: dict[str, int] = read_json(folder / TABLE)
    numbered = all(map(_is_id, table.values())) and sorted(table.values()) == [*range(len(table))]
    if not numbered or "<unk>" not in table:
        raise input_error(
            f"{folder / TABLE}: not a table of pieces",
            got=f"{len(table):,} pieces, ids that are not 0 to {len(table) - 1:,}, or no <unk>",
            allowed="each id once, from 0 on",
            fix="download the file again",
        )
    contents = [_bytes(folder / name) for name in names]
    different = [*dict.fromkeys(contents)]
    models = tuple(_sentencepiece(each, folder / name) for each, name in zip(different, names, strict=False))
    files = tuple((name, different.index(each)) for name, each in zip(names, contents, strict=True))
    return TableVocabulary(table, models, files)


def _bytes(path: Path) -> bytes:
    with open_input(path) as file:
        return file.read()


def _converted(folder: Path) -> bytes:
    """The tokenizer as `tokenizer.json`, by transformers."""
    from trimtab.export.hf.library import open_tokenizer, require_transformers

    if not any((folder / name).is_file() for name in (*SENTENCEPIECE, *OLD_FORMS, "tekken.json")):
        raise input_error(
            f"{folder}: it has no tokenizer",
            got=f"no {FAST}, and no tokenizer of another form",
            allowed=f"{FAST}, {', '.join((*SENTENCEPIECE, *OLD_FORMS))}",
            fix="download the files of the tokenizer that belongs to the model",
        )
    require_transformers()
    backend = getattr(open_tokenizer(folder), "backend_tokenizer", None)
    if backend is None:
        raise input_error(
            f"{folder}: its tokenizer cannot be changed",
            got=", ".join(sorted(each.name for each in folder.glob("*tok*"))[:5]) or "no tokenizer.json",
            allowed=f"{FAST}; or {TABLE} with {', '.join(MARIAN)} or {M2M100}",
            fix=f"write {FAST}: `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`",
        )
    return backend.to_str().encode()


def copy_others(folder: Path, out: Path, *, skip: frozenset[str]) -> tuple[str, ...]:
    """Copies what holds neither weights nor ids; names of the weights in other formats, which are left behind."""
    left: list[str] = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if any(part.startswith(".") for part in place.parts) or path.is_dir():
            continue
        if place.name in skip and len(place.parts) == 1:
            continue
        if path.suffix in _WEIGHTS or path.name.endswith(".index.json"):
            left.append(str(place))
            continue
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / place)
    return tuple(left)


def write_settings(folder: Path, out: Path, change: VocabularyChange, *, rows: int) -> None:
    """Settings of the model, of generation and of the tokenizer, with new ids and sizes."""
    for name in SETTINGS:
        if told := read_json(folder / name):
            write_object(
                out / name, resized(renumbered(told, change.new_ids.get), old=rows, size=len(change.origins))
            )
    if told := read_json(folder / TOKENIZER_CONFIG):
        if decoder := _decoder(told, folder / TOKENIZER_CONFIG):
            new = {change.new_ids[id]: token for id, token in decoder.items() if id in change.new_ids}
            told["added_tokens_decoder"] = {str(id): new[id] for id in sorted(new)}
        write_object(out / TOKENIZER_CONFIG, told)
    if told := _added_words(folder):
        write_object(
            out / ADDED, {word: change.new_ids[id] for word, id in told.items() if id in change.new_ids}
        )


def write_old_forms(folder: Path, out: Path, vocabulary: FastVocabulary) -> tuple[str, ...]:
    """The pieces in the older files that the folder has beside `tokenizer.json`; names of those that are left out."""
    pieces = {vocabulary.piece(id): id for id in range(vocabulary.num_ids)}
    model = vocabulary.tree["model"]
    if (folder / "vocab.txt").is_file():
        text = "".join(f"{piece}\n" for piece in sorted(pieces, key=pieces.__getitem__))
        (out / "vocab.txt").write_text(text, encoding="utf-8")
    if (folder / "vocab.json").is_file():
        write_object(out / "vocab.json", model["vocab"] if isinstance(model["vocab"], dict) else pieces)
    if (folder / "merges.txt").is_file():
        lines = [each if isinstance(each, str) else " ".join(each) for each in model.get("merges", ())]
        (out / "merges.txt").write_text(
            "#version: 0.2\n" + "".join(f"{each}\n" for each in lines), encoding="utf-8"
        )
    return tuple(name for name in SENTENCEPIECE if (folder / name).is_file())


def ids_in_files(folder: Path) -> dict[str, int]:
    """Every id that the files of a folder name, with the file and the key."""
    found: list[tuple[str, int]] = []
    for name in SETTINGS:
        found += [(f"{name}: {key}", id) for key, id in ids_of(read_json(folder / name))]
    path = folder / TOKENIZER_CONFIG
    for id, token in _decoder(read_json(path), path).items():
        word = token if isinstance(token, str) else token["content"]
        found.append((f"{TOKENIZER_CONFIG}: {word}", id))
    found += [(f"{ADDED}: {word}", id) for word, id in _added_words(folder).items()]
    return named_ids(found)
