"""Reads the tokenizers of a pretrained model of transformers: what each side puts around the pieces of a line follows
from the family of the model and from the languages that the recipe names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_never

from trimtab.config.pretrained.families import Family, family_of
from trimtab.config.pretrained.module_shapes import GENERATION
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.pretrained.shapes import read_settings
from trimtab.config.pretrained.trocr_shapes import decoder_settings
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds
from trimtab.data.input_file import open_input
from trimtab.data.mapped_pieces import MappedPieces, read_table
from trimtab.data.pretrained_tokenizer import FILE, MAP, SETTINGS, ids_of, read_object, spelled
from trimtab.data.side_tokenizer import Frame, SideTokenizer
from trimtab.errors import InputError, input_error

Side = Literal["source", "target"]
TABLE, TARGET_TABLE = "vocab.json", "target_vocab.json"
MARIAN = {"source": "source.spm", "target": "target.spm"}
M2M100 = "sentencepiece.bpe.model"
SPELLINGS = ("{}", "__{}__", ">>{}<<", "<2{}>")
"""How vocabularies spell the code of a language."""
MOST_NAMED = 8
KEY = "data.tokenizer"
NO_SYMBOLS = SpecialIds(pad=0, unknown=0, start=0, end=0)


@dataclass(frozen=True, slots=True)
class Described:
    """What the files beside a tokenizer say of it."""

    folder: Path
    family: Family
    model: Mapping[str, Any]
    """config.json, and what generation_config.json says otherwise."""
    symbols: Mapping[str, Any]
    """tokenizer_config.json and special_tokens_map.json."""

    @property
    def writes(self) -> bool:
        """Whether a decoder writes with it."""
        return self.family.facts.writes_text or self.family.facts.reads_images


def read_side(config: PretrainedTokenizer, side: Side, *, task: str) -> SideTokenizer:
    """The tokenizer of one side of the model in the folder that `config` names.

    Raises InputError where files are missing or damaged, a symbol has no id that the model has a row for, and where a
    language is missing, unknown, or named though the model knows none.
    """
    folder = Path(config.path)
    settings = read_settings(folder / CONFIG)
    family = family_of(settings, task=task, name=str(folder / CONFIG))
    if family.facts.reads_images:
        settings = decoder_settings(settings)
    writes = family.facts.writes_text or family.facts.reads_images
    told = read_object(folder / GENERATION) if writes else {}
    known = {key: value for key, value in told.items() if value is not None}
    files = Described(
        folder, family, {**settings, **known}, {**read_object(folder / MAP), **read_object(folder / SETTINGS)}
    )
    pieces = _pieces(files, side)
    written = side == "target" and settings.get("decoder_vocab_size")
    num_ids = int(written or settings["vocab_size"])
    special = _special(files, pieces)
    code = _language(config, files, pieces, side)
    if family.tokens == "language first" and code is not None and is_mbart25(files):
        # mBART 25 starts its decoder with the language, and reads that of the source behind the end symbol.
        behind = (special.end, code) if side == "source" else (special.end,)
        special = SpecialIds(pad=special.pad, unknown=special.unknown, start=code, end=special.end)
        frame = Frame(behind=behind, prefix=config.source_prefix if side == "source" else "")
    else:
        frame = _frame(config, files, special, side=side, code=code)
    _check_rows(pieces, special, frame, num_ids, folder)
    return SideTokenizer(pieces, special=special, frame=frame, num_ids=num_ids)


def is_mbart25(files: Described) -> bool:
    """Whether a model of the family mBART is the first of them, whose source ends with its language."""
    if files.model.get("model_type") != "mbart":
        return False
    named = str(files.symbols.get("tokenizer_class") or files.model.get("tokenizer_class") or "")
    return named.removesuffix("Fast") != "MBart50Tokenizer"


def _frame(
    config: PretrainedTokenizer, files: Described, special: SpecialIds, *, side: Side, code: int | None
) -> Frame:
    prefix = config.source_prefix if side == "source" else ""
    match files.family.tokens:
        case "ends":
            before = () if code is None else (code,)
            return Frame(before=before, behind=(special.end,), prefix=prefix)
        case "language first":
            assert code is not None, "a model of many languages needs one"
            return Frame(before=(code,), behind=(special.end,), prefix=prefix)
        case "begins and ends":
            first = files.model.get("bos_token_id") if files.writes else special.start
            before = (int(first),) if first is not None else ()
            return Frame(before=before, behind=(special.end,), prefix=prefix)
        case _:
            assert_never(files.family.tokens)


def _pieces(files: Described, side: Side) -> FastTokenizer | MappedPieces:
    folder = files.folder
    if (folder / MARIAN["source"]).is_file() and (folder / TABLE).is_file():
        own = folder / TARGET_TABLE
        table = (
            own
            if side == "target" and files.symbols.get("separate_vocabs") and own.is_file()
            else folder / TABLE
        )
        return _mapped(folder / MARIAN[side], _table(table), files)
    if (folder / FILE).is_file():
        content = _read(folder / FILE)
        rows = max(ids_of(content).values(), default=0) + 1
        # Its symbols are those of the side, which asks it for pieces alone.
        return FastTokenizer(content, special=NO_SYMBOLS, num_ids=rows, name=str(folder / FILE))
    if (folder / M2M100).is_file() and (folder / TABLE).is_file():
        table = _table(folder / TABLE)
        return _mapped(folder / M2M100, table, files, codes=_codes(files, len(table)))
    raise input_error(
        f"{KEY}.path: {folder} has no tokenizer that trimtab reads",
        got=", ".join(sorted(each.name for each in folder.iterdir() if each.is_file())[:MOST_NAMED])
        or "no file",
        allowed=f"{FILE}; {' and '.join(MARIAN.values())} with {TABLE}; or {M2M100} with {TABLE}",
        fix="write tokenizer.json: `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`",
    )


def _mapped(
    path: Path, table: dict[str, int], files: Described, *, codes: Mapping[str, int] | None = None
) -> MappedPieces:
    unknown = table.get(spelled(files.symbols.get("unk_token")) or "<unk>")
    if unknown is None:
        raise input_error(
            f"{files.folder / TABLE}: has no piece for what is unknown",
            got="no <unk>",
            allowed="the unk_token of the model",
            fix="download the file again",
        )
    symbols = codes or {}
    return MappedPieces(
        _read(path),
        {**table, **symbols},
        unknown=unknown,
        symbols=frozenset(symbols.values()),
        name=str(path),
    )


def _codes(files: Described, first: int) -> dict[str, int]:
    """The ids of the languages of M2M100, which follow those of its table in an order that transformers knows."""
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    named = str(files.symbols.get("language_codes") or "m2m100")
    codes = FAIRSEQ_LANGUAGE_CODES.get(named, FAIRSEQ_LANGUAGE_CODES["m2m100"])
    return {f"__{code}__": first + number for number, code in enumerate(codes)}


def _special(files: Described, pieces: FastTokenizer | MappedPieces) -> SpecialIds:
    """The ids of the symbols: those that the model's settings name, else those of the tokenizer's symbols."""
    classifies = not files.writes

    def of(setting: str, *symbols: str) -> int | None:
        value = files.model.get(setting)
        value = value[0] if isinstance(value, list) and value else value
        if type(value) is int and not (classifies and setting != "pad_token_id"):
            return value
        for symbol in symbols:
            if (
                found := pieces.token_to_id(spelled(files.symbols.get(symbol)) or DEFAULTS[symbol])
            ) is not None:
                return found
        return None

    end = of("eos_token_id", *(("sep_token",) if classifies else ("eos_token",)))
    pad = of("pad_token_id", "pad_token")
    start = of("cls_token_id", "cls_token") if classifies else of("decoder_start_token_id")
    if start is None and not classifies:
        start = pad if files.model.get("model_type") in ("t5", "mt5", "umt5", "marian") else None
    if start is None and is_mbart25(files):
        start = end  # the language, which is put in its place
    missing = [name for name, id in (("end", end), ("padding", pad), ("start", start)) if id is None]
    if end is None or pad is None or start is None:
        raise input_error(
            f"{files.folder / CONFIG}: names no {' and no '.join(missing)} symbol",
            got=f"no {'cls_token' if classifies else 'decoder_start_token_id'}"
            if missing == ["start"]
            else "no such id",
            allowed="eos_token_id, pad_token_id and decoder_start_token_id",
            fix="download config.json and generation_config.json again",
        )
    unknown = of("unk_token_id", "unk_token")
    return SpecialIds(pad=pad, unknown=end if unknown is None else unknown, start=start, end=end)


DEFAULTS = {
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
}


def _language(
    config: PretrainedTokenizer, files: Described, pieces: FastTokenizer | MappedPieces, side: Side
) -> int | None:
    """The id of the language of a side, as far as it stands around the pieces of that side."""
    if not files.family.facts.writes_text:
        if config.source_language or config.target_language:
            raise _no_languages(files, "source_language" if config.source_language else "target_language")
        return None
    if files.family.tokens == "language first":
        key = f"{side}_language"
        if (code := getattr(config, key)) is None:
            raise input_error(
                f"{KEY}.{key}: not given, and this model reads and writes many languages",
                got="no language",
                allowed=_known(pieces),
                fix=f"set `{KEY}.{key}: {_first(pieces)}`, or another of them",
            )
        return _code(code, pieces, key, SPELLINGS[:2])
    if config.source_language is not None:
        raise _no_languages(files, "source_language")
    if config.target_language is None or side == "target":
        return None
    return _code(config.target_language, pieces, "target_language", SPELLINGS[2:])


def _code(code: str, pieces: FastTokenizer | MappedPieces, key: str, spellings: tuple[str, ...]) -> int:
    for form in spellings:
        spelling = form.format(code)
        if (found := pieces.token_to_id(spelling)) is not None and _is_code(spelling):
            return found
    raise input_error(
        f"{KEY}.{key}: the model has no such language",
        got=code,
        allowed=_known(pieces),
        fix=f"set `{KEY}.{key}: {_first(pieces)}`, or another of them; codes are spelled as the model's own",
    )


def _is_code(piece: str) -> bool:
    """Whether a piece is the code of a language, and no ordinary one."""
    if piece.startswith((">>", "<2", "__")):
        return True
    name, _, rest = piece.partition("_")
    return name.isascii() and name.isalpha() and 2 <= len(name) <= 3 and rest.isascii() and rest.isalpha()


def _languages(pieces: FastTokenizer | MappedPieces) -> list[str]:
    every = pieces.table if isinstance(pieces, MappedPieces) else ids_of(pieces.content)
    found = [each for each in every if _is_code(each)]
    forms = ((">>", "<<"), ("<2", ">"), ("__", "__"))
    for start, stop in forms:
        marked = [each for each in found if each.startswith(start) and each.endswith(stop) and len(each) > 4]
        if marked:
            return sorted(each[len(start) : -len(stop)] for each in marked)
    return sorted(each for each in found if len(each) < 12)


def _known(pieces: FastTokenizer | MappedPieces) -> str:
    found = _languages(pieces)
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more if found else "nothing, for a model of two languages"


def _first(pieces: FastTokenizer | MappedPieces) -> str:
    return next(iter(_languages(pieces)), "null")


def _no_languages(files: Described, key: str) -> InputError:
    return input_error(
        f"{KEY}.{key}: this model reads no language code there",
        got=f"{key}, with a model of the family {files.model.get('model_type')}",
        allowed="languages with M2M100, NLLB and mBART; target_language also with Marian and MADLAD",
        fix="remove it",
    )


def _check_rows(
    pieces: FastTokenizer | MappedPieces, special: SpecialIds, frame: Frame, num_ids: int, folder: Path
) -> None:
    """Raises InputError for an id that the model has no row for: on a GPU it would end the process with no message."""
    symbols = {special.pad, special.unknown, special.start, special.end, *frame.before, *frame.behind}
    largest = max(max(symbols), pieces.num_pieces - 1)
    if largest >= num_ids or min(symbols) < 0:
        raise input_error(
            f"{KEY}: {folder} has a tokenizer with more ids than the model has rows",
            got=f"the id {largest if largest >= num_ids else min(symbols)}, and {num_ids:,} rows",
            allowed=f"ids from 0 to {num_ids - 1:,}",
            fix="take the tokenizer that belongs to the model",
        )


def _table(path: Path) -> dict[str, int]:
    return read_table(_read(path), path)


def _read(path: Path) -> bytes:
    with open_input(path) as file:
        return file.read()
