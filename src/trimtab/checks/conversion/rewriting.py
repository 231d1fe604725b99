"""Commands that turn a data set of another tool into a file that a recipe reads."""

import json
import re
from pathlib import PurePath
from shlex import quote

from trimtab.checks.conversion.data_sets import (
    CHAT_FIELDS,
    INSTRUCTION_FIELDS,
    KNOWN_ROLES,
    LINES,
    DataSet,
)

EACH = 'if type == "array" then .[] else . end'
"""A file with one list, and one with an object a line."""
READERS = {".gz": "zcat", ".xz": "xzcat", ".zst": "zstdcat"}
TABLES = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".json": "json", ".jsonl": "json"}
"""Endings of the files that the library `datasets` reads, by the name of its reader."""
_SIMPLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def file_of(data: DataSet, *, learn: str) -> str:
    """The file that the recipe names: that of the data set, or the one that `commands` writes."""
    if data.is_file and data.name.endswith(LINES) and not _program(data, learn=learn):
        return data.name
    name = PurePath(data.name).name or "train"
    for ending in (*LINES, ".json", ".parquet", ".csv", ".arrow"):
        if name.endswith(ending):
            stem = name.removesuffix(ending) or "train"
            return f"{stem}.jsonl" if ending not in LINES else f"{stem}.rows.jsonl"
    return f"{name}.jsonl"


def commands(data: DataSet, *, learn: str) -> list[str]:
    """Shell commands that write `file_of`; none where the file is read as it is."""
    out, program = file_of(data, learn=learn), _program(data, learn=learn)
    if out == data.name:
        return []
    suffix = PurePath(data.name).suffix
    if data.is_file and suffix not in (".parquet", ".csv", ".arrow"):
        filters = [EACH] if suffix == ".json" else []
        text = " | ".join([*filters, program or "."] if program or not filters else filters)
        source = quote(data.name)
        if suffix in READERS:
            return [f"{READERS[suffix]} {source} | jq -c {quote(text)} > {quote(out)}"]
        return [f"jq -c {quote(text)} {source} > {quote(out)}"]
    read = out if not program else out.removesuffix(".jsonl") + ".loaded.jsonl"
    python = f"python -c {quote(f'import datasets; {_loaded(data)}.to_json({json.dumps(read)})')}"
    return [python, f"jq -c {quote(program)} {quote(read)} > {quote(out)}"] if program else [python]


def _loaded(data: DataSet) -> str:
    """The expression that loads a data set with the library `datasets`."""
    kind = TABLES.get(PurePath(data.name).suffix)
    split = f"split={json.dumps(data.split)}"
    if kind is not None and (data.is_file or "://" in data.name):
        words = [json.dumps(kind), f"data_files={json.dumps(data.name)}", split]
    else:
        words = [json.dumps(data.name), *([json.dumps(data.config)] if data.config else []), split]
    shard = f".shard({data.shards}, 0)" if data.shards > 1 else ""
    return f"datasets.load_dataset({', '.join(words)}){shard}"


def _program(data: DataSet, *, learn: str) -> str:
    """What `jq` makes of a row; nothing where a recipe reads it as it is."""
    is_spelled_out = data.form == "instructions" and ("history" in data.fields or learn == "all")
    if data.reads_as_it_is and not is_spelled_out:
        return ""
    if data.form == "texts":
        return f"{{text: {_field(data.fields['text'])}}}"
    if data.form == "chats":
        return _of_chats(data)
    if data.form == "instructions":
        return _of_turns(data) if is_spelled_out else _of_instructions(data)
    return ""


def _of_chats(data: DataSet) -> str:
    named = {**CHAT_FIELDS, **data.fields}
    role, content = _field(named["role"]), _field(named["content"])
    others = {name: ours for name, ours in data.roles.items() if ours != name}
    known = {**KNOWN_ROLES, **others} if others else {}
    if any(name not in KNOWN_ROLES for name in known):
        role = f"({json.dumps(known)}[{role}] // {role})"
    messages = f"{_field(named['messages'])}[] | {{role: {role}, content: {content}}}"
    if "system" in named:
        system = _field(named["system"])
        first = f'({system} // "" | select(. != "") | {{role: "system", content: .}})'
        return f"{{messages: [{first}, ({messages})]}}"
    return f"{{messages: [{messages}]}}"


def _of_instructions(data: DataSet) -> str:
    parts = [f"{name}: {_field(data.fields[name])}" for name in ("instruction", "output")]
    parts += [
        f'{name}: ({_field(data.fields[name])} // "")'
        for name in ("input", "system")
        if data.fields[name] != INSTRUCTION_FIELDS[name]
    ]
    return f"{{{', '.join(parts)}}}"


def _of_turns(data: DataSet) -> str:
    """Instructions as messages, those of earlier turns before them."""
    field = {name: _field(data.fields.get(name, name)) for name in (*INSTRUCTION_FIELDS, "history")}
    system = f'({field["system"]} // "" | select(. != "") | {{role: "system", content: .}})'
    asked = f'([{field["instruction"]}, {field["input"]}] | map(select(. != null and . != "")) | join("\\n"))'
    turns = [system]
    if "history" in data.fields:
        turns.append(
            f'(({field["history"]} // [])[] | {{role: "user", content: .[0]}}, {{role: "assistant", content: .[1]}})'
        )
    turns += [f'{{role: "user", content: {asked}}}', f'{{role: "assistant", content: {field["output"]}}}']
    return f"{{messages: [{', '.join(turns)}]}}"


def _field(name: str) -> str:
    return f".{name}" if _SIMPLE.fullmatch(name) else f".[{json.dumps(name)}]"
