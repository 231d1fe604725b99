"""Files that are read as plain text and are none: JSON, tables, notebooks. A model would learn their braces."""

import json
import re
from pathlib import Path

from trimtab.data.formats.json_line import FIELD, read_json
from trimtab.data.lines import Lines
from trimtab.errors import InputError, input_error

_HEAD_BYTES = 1 << 16
_ALLOWED = (
    "documents of plain text, blank lines between them, or JSONL by the name of .jsonl or .ndjson "
    "(also .gz, .xz, .zst)"
)
_OBJECT = re.compile(r'^\{\s*"[^"\n]{1,200}"\s*:')
_NOTEBOOK = re.compile(r'^\{\s*"(cells|nbformat|nbformat_minor|metadata)"\s*:')
_ARRAY = re.compile(r"^\[\s*(?=[\[{\"])")
_GOES_ON = re.compile(r"\s*(?:\]\s*$|,\s*(?:$|[\[{\"0-9-]|true|false|null))")
"""What follows an item of an array."""
_TABLES = {".csv": "commas", ".tsv": "tabs"}
_MARKUP = {
    ".xml": "XML",
    ".tmx": "TMX",
    ".xlf": "XLIFF",
    ".xliff": "XLIFF",
    ".parquet": "Parquet",
    ".arrow": "Arrow",
}


def refuse_what_is_no_text(lines: Lines, path: Path, *, suffix: str) -> None:
    """InputError for a file whose name or beginning says that it is JSON, a notebook or a table.

    `suffix` is that of the name without .gz, .xz or .zst; empty for a pipe. JSONL that has a `text` in its first line
    has a message of its own, `corpus.open_corpus`.
    """
    head = _head(lines)
    if suffix == ".ipynb" or _NOTEBOOK.match(head):
        raise _refused(
            path,
            "is a notebook",
            got="cells in JSON",
            fix=f"take the text out: `jupyter nbconvert --to markdown {path.name}`, and name what that writes",
        )
    if suffix in _TABLES:
        raise _refused(
            path,
            "is a table",
            got=f"columns between {_TABLES[suffix]}, by its name",
            fix="write its column of texts as JSONL: `python -c \"import csv, json, sys; [print(json.dumps({'text': "
            f"row['COLUMN']}})) for row in csv.DictReader(sys.stdin{_DELIMITER[suffix]})]\" < {path.name} > "
            f"{path.name.split('.')[0]}.jsonl`; call it .txt where it is no table",
        )
    if suffix in _MARKUP:
        raise _refused(
            path, f"is {_MARKUP[suffix]}", got=f"the name {path.name}", fix="write its texts as JSONL"
        )
    _refuse_json(head, path, suffix=suffix)


_DELIMITER = {".csv": "", ".tsv": ", delimiter='\\t'"}


def fields_of(line: str) -> list[str]:
    """The names of the fields of a JSON object in one line; none where it is no object."""
    try:
        value = read_json(line)
    except (ValueError, RecursionError):
        return []
    return [str(name) for name in value] if isinstance(value, dict) else []


def advice_for(fields: list[str]) -> str:
    """What to do with JSONL that has these fields and no `text`; empty where nothing better is known."""
    known = {name.lower(): name for name in fields}
    for source, target in (("prompt", "completion"), ("prompt", "response"), ("instruction", "output")):
        if source in known and target in known:
            return (
                f"these are pairs: write `pairs: FILE.jsonl, source: {known[source]}, target: {known[target]}` in "
                "place of `text`; the source is read and does not count in the loss"
            )
    return ""


def _refuse_json(head: str, path: Path, *, suffix: str) -> None:
    stem = path.name.split(".")[0]
    if _ARRAY.match(head) and _begins_with_an_item(head):
        raise _refused(
            path,
            "is a JSON array",
            got="one array of all items",
            fix=f"write one object a line: `jq -c '.[]' {path.name} > {stem}.jsonl`; where its items are plain "
            "strings, `jq -c '.[] | {text: .}'`",
        )
    first = head.partition("\n")[0].strip()
    fields = fields_of(first)
    if FIELD in fields:
        return
    if fields:
        raise _refused(
            path,
            f"contains JSON, an object a line without a {FIELD!r}",
            got=f"the fields {', '.join(fields)}"[:300],
            fix=advice_for(fields)
            or f"call it {stem}.jsonl, with the document in the field {FIELD!r} of each object, or the messages of a "
            "chat in `messages`",
        )
    if _OBJECT.match(head):
        raise _refused(
            path,
            "is JSON",
            got="an object over several lines",
            fix=f"write one object a line, with the document in the field {FIELD!r}: "
            f"`jq -c . {path.name} > {stem}.jsonl`",
        )


def _begins_with_an_item(head: str) -> bool:
    """Whether a whole item follows the bracket, and a comma or the end of the array; or an object longer than what is
    looked at. A text may begin with a bracket and a quotation, too."""
    start = head.index("[") + 1
    rest = head[start:].lstrip()
    try:
        _, stop = json.JSONDecoder().raw_decode(rest)
    except (ValueError, RecursionError):
        return len(head) >= _HEAD_BYTES // 4 and re.match(r'\{\s*"', rest) is not None
    return _GOES_ON.match(rest[stop:]) is not None


def _refused(path: Path, what: str, *, got: str, fix: str) -> InputError:
    return input_error(f"{path}: {what}, and would be learned as it is", got=got, allowed=_ALLOWED, fix=fix)


def _head(lines: Lines) -> str:
    """What the file begins with, without a byte order mark and white space."""
    last = lines.start(len(lines)) if len(lines) else 0
    data = lines.between(0, min(_HEAD_BYTES, last))
    return data.decode("utf-8", errors="ignore").removeprefix("\ufeff").lstrip()
