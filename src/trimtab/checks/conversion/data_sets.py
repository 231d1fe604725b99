"""The data sets that a configuration of Axolotl or LLaMA-Factory names, with what it says of their rows."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Literal, cast

from trimtab.checks.conversion.draft import Draft
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.listed import text_list

Form = Literal["chats", "instructions", "texts", "unread", "unknown"]
"""How rows are built: conversations, instructions with answers, texts; what no recipe reads, and what nothing says."""
LINES = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".jsonl.zst", ".txt", ".txt.gz")
"""Names that a recipe reads as they are."""
CHATS = frozenset({"chat_template", "sharegpt", "messages", "openai", "chatml"})
TEXTS = frozenset({"completion", "pretrain"})
ALPACA = "alpaca"
CHAT_FIELDS = {"messages": "messages", "role": "role", "content": "content"}
SHAREGPT_FIELDS = {"messages": "conversations", "role": "from", "content": "value"}
INSTRUCTION_FIELDS = {"instruction": "instruction", "input": "input", "output": "output", "system": "system"}
KNOWN_CHATS = ("messages", "conversations"), (("role", "content"), ("from", "value"))
"""Names of the field of messages, and of role and text in each, that a recipe reads."""
KNOWN_ROLES = {"human": "user", "gpt": "assistant"}
DATA_SETS = "dataset_info.json"
MOST_BYTES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set as it is named there."""

    key: str
    """The key that names it: `datasets.0`."""
    name: str
    """A file, a folder, or a name of the hub."""
    form: Form = "unknown"
    said: str = ""
    """What the tool calls its form: `alpaca`."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of the fields of a row by what they mean: those of `CHAT_FIELDS` or `INSTRUCTION_FIELDS`, `text`,
    `history`."""
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the roles of messages are called there, with what they are called here."""
    config: str = ""
    """The configuration of a data set of the hub."""
    split: str = "train"
    shards: int = 1
    """Of which the first is read."""
    folder: Path = Path()
    """From which a relative name starts."""
    is_missing: bool = False
    """Whether it is a name of LLaMA-Factory that no `dataset_info.json` explains."""

    @property
    def path(self) -> Path:
        """Where it is, if it is a file."""
        return self.folder / self.name

    @property
    def is_file(self) -> bool:
        """Whether the name is that of a file rather than of a data set of the hub."""
        return "://" not in self.name and bool(
            self.name.endswith((*LINES, ".json", ".parquet", ".csv", ".arrow")) or is_there(self.path)
        )

    @property
    def reads_as_it_is(self) -> bool:
        """Whether the names of its fields are those that a recipe reads."""
        if self.form == "chats":
            names, pairs = KNOWN_CHATS
            named = {**CHAT_FIELDS, **self.fields}
            others = {role for role in self.roles if self.roles[role] not in (role, KNOWN_ROLES.get(role))}
            is_known = named["messages"] in names and (named["role"], named["content"]) in pairs
            return is_known and not others and "system" not in self.fields
        if self.form == "instructions":
            return {**INSTRUCTION_FIELDS, **self.fields} == INSTRUCTION_FIELDS
        return self.fields.get("text", "text") == "text"


def is_there(path: Path) -> bool:
    """Whether there is a file; not so for a name that no file system takes."""
    try:
        return path.is_file()
    except OSError:
        return False


def training_sets(draft: Draft) -> list[DataSet]:
    """Those that are trained on; what is read here counts as taken over."""
    corpora = draft.take("corpora")
    if corpora is None:
        return []
    if draft.run.tool == "axolotl":
        return [*_of_axolotl(draft, corpora.key)]
    if draft.run.tool == "llamafactory":
        return [*_of_llamafactory(draft, corpora.key, [*cast("list[Any]", corpora.value or [])])]
    return [DataSet(key=corpora.key, name=str(name)) for name in cast("list[Any]", corpora.value or [])]


def validation_sets(draft: Draft) -> list[DataSet]:
    """Those that are named for evaluation."""
    if draft.run.tool == "axolotl" and draft.run.keys.get("test_datasets") is not None:
        draft.key("test_datasets")
        return [*_of_axolotl(draft, "test_datasets")]
    named = draft.run.keys.get("eval_dataset") if draft.run.tool == "llamafactory" else None
    if named is None or not isinstance(named.value, str):
        return []
    draft.account(named)
    return [
        *_of_llamafactory(draft, named.key, [each.strip() for each in named.value.split(",") if each.strip()])
    ]


def _of_axolotl(draft: Draft, key: str) -> Iterator[DataSet]:
    written = draft.run.keys.get(key)
    value: Any = None if written is None else written.value
    for number, item in enumerate(cast("list[Any]", value) if isinstance(value, list) else []):
        yield from _axolotl_entry(draft, mapping(item), key=f"{key}.{number}")


AXOLOTL_KEYS = (
    "path", "type", "data_files", "ds_type", "split", "name", "shards", "field", "text_column", "field_messages",
    "field_system", "message_property_mappings", "message_field_role", "message_field_content", "roles",
    "roles_to_train", "train_on_eos", "train_on_eot", "conversation", "chat_template", "trust_remote_code",
    "preprocess_shards", "skip", "field_human", "field_model",
)  # fmt: skip


def _axolotl_entry(draft: Draft, item: Mapping[str, Any], *, key: str) -> Iterator[DataSet]:
    for written, setting in draft.run.keys.items():
        rest = written.removeprefix(f"{key}.")
        if rest != written and rest.partition(".")[0] in AXOLOTL_KEYS:
            draft.account(setting)
    said = item.get("type")
    data_set = DataSet(
        key=key,
        name="",
        config=_text(item, "name"),
        split=_text(item, "split") or "train",
        shards=item["shards"] if isinstance(item.get("shards"), int) and item["shards"] > 1 else 1,
        folder=_base(draft, str(item.get("path"))),
    )
    data_set = (
        _own_fields(data_set, mapping(said))
        if isinstance(said, dict)
        else _by_type(data_set, str(said or ""), item)
    )
    if isinstance(trained := item.get("roles_to_train"), list) and set(cast("list[Any]", trained)) - {
        "assistant",
        "gpt",
    }:
        draft.note(f"{key}: roles_to_train is {', '.join(map(str, cast('list[Any]', trained)))}; here answers of the "
                   "assistant are learned")  # fmt: skip
    files = item.get("data_files")
    names: list[Any] = text_list(files) or [item.get("path")] if files else [item.get("path")]
    for name in names:
        if isinstance(name, str) and name:
            yield replace(data_set, name=name)


def _by_type(data_set: DataSet, said: str, item: Mapping[str, Any]) -> DataSet:
    """The data set by the word of its type, such as `alpaca_chat.load_qa` or `chat_template`."""
    word = said.partition(".")[0].partition(":")[0]
    if said in ("alpaca_chat.load_qa", "context_qa"):
        return replace(
            data_set,
            form="instructions",
            said=said,
            fields={**INSTRUCTION_FIELDS, "instruction": "question", "output": "answer"},
        )
    if word in CHATS:
        fields = {**(SHAREGPT_FIELDS if word == "sharegpt" else CHAT_FIELDS)}
        mapped = mapping(item.get("message_property_mappings"))
        for name, keys in {"messages": ("field_messages",), "role": ("message_field_role",),
                           "content": ("message_field_content",)}.items():  # fmt: skip
            fields[name] = next((_text(item, key) for key in keys if _text(item, key)), fields[name])
            fields[name] = _text(mapped, name) or fields[name]
        if system := _text(item, "field_system"):
            fields["system"] = system
        given = mapping(item.get("roles"))
        roles = {name: role for role, names in given.items() for name in text_list(names) or []}
        return replace(data_set, form="chats", said=said, fields=fields, roles=roles)
    if word in TEXTS:
        text = _text(item, "field") or _text(item, "text_column") or "text"
        return replace(data_set, form="texts", said=said, fields={"text": text})
    if word == ALPACA:
        return replace(data_set, form="instructions", said=said, fields={**INSTRUCTION_FIELDS})
    return replace(data_set, form="unread" if word else "unknown", said=said)


def _own_fields(data_set: DataSet, item: Mapping[str, Any]) -> DataSet:
    """A type that spells out its fields and its format."""
    fields = {name: _text(item, f"field_{name}") or name for name in INSTRUCTION_FIELDS}
    return replace(data_set, form="instructions", said="own fields", fields=fields)


def _of_llamafactory(draft: Draft, key: str, names: list[Any]) -> Iterator[DataSet]:
    folder, known = _named_data_sets(draft)
    for name in names:
        entry = mapping(known.get(str(name)))
        if not entry:
            yield DataSet(key=key, name=str(name), is_missing=True)
            continue
        yield _llamafactory_entry(draft, entry, key=key, name=str(name), folder=folder)


def _llamafactory_entry(
    draft: Draft, entry: Mapping[str, Any], *, key: str, name: str, folder: Path
) -> DataSet:
    columns, tags = mapping(entry.get("columns")), mapping(entry.get("tags"))
    file, hub = _text(entry, "file_name"), _text(entry, "hf_hub_url") or _text(entry, "ms_hub_url")
    place = folder / file if file else Path()
    data_set = DataSet(
        key=key,
        name=str(place) if file and is_there(place) else file or hub or name,
        said=str(entry.get("formatting") or ALPACA),
        config=_text(entry, "subset"),
        split=_text(entry, "split") or "train",
    )
    if entry.get("ranking") is True:
        return replace(data_set, form="unread", said="ranking")
    if draft.run.value("task") == "pretrain":
        return replace(data_set, form="texts", fields={"text": _text(columns, "prompt") or "instruction"})
    if data_set.said in ("sharegpt", "openai"):
        openai = data_set.said == "openai"
        fields = {
            "messages": _text(columns, "messages") or ("messages" if openai else "conversations"),
            "role": _text(tags, "role_tag") or ("role" if openai else "from"),
            "content": _text(tags, "content_tag") or ("content" if openai else "value"),
        }
        if system := _text(columns, "system"):
            fields["system"] = system
        usual = (
            {"user": "user", "assistant": "assistant"} if openai else {"user": "human", "assistant": "gpt"}
        )
        roles = {_text(tags, f"{role}_tag") or usual[role]: role for role in usual}
        return replace(data_set, form="chats", fields=fields, roles=roles)
    fields = {
        "instruction": _text(columns, "prompt") or "instruction",
        "input": _text(columns, "query") or "input",
        "output": _text(columns, "response") or "output",
        "system": _text(columns, "system") or "system",
    }
    if history := _text(columns, "history"):
        fields["history"] = history
    return replace(data_set, form="instructions", fields=fields)


def _named_data_sets(draft: Draft) -> tuple[Path, Mapping[str, Any]]:
    """Where `dataset_info.json` is and what it says, looked for from the file's folder and from here."""
    written = draft.key("dataset_dir")
    named = str(written.value) if written is not None and isinstance(written.value, str) else "data"
    for place in (Path(draft.run.document.path).parent / named, Path(named)):
        try:
            with (place / DATA_SETS).open("rb") as file:
                return place, mapping(json.loads(file.read(MOST_BYTES)))
        except (OSError, ValueError, RecursionError):
            continue
    return Path(named), {}


def _base(draft: Draft, name: str) -> Path:
    """The folder that a file is found from: that of the configuration, or this one."""
    beside = Path(PurePath(draft.run.document.path).parent)
    return Path() if is_there(Path(name)) else beside


def _text(item: Mapping[str, Any], key: str) -> str:
    found = item.get(key)
    return found if isinstance(found, str) else ""
