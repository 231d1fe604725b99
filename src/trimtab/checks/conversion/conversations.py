"""Data sets of Axolotl, LLaMA-Factory and TRL as files of the branch `data`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, cast

from trimtab.checks.conversion.draft import Draft, scalar
from trimtab.checks.kinds.signs import mapping
from trimtab.checks.setting import Setting

FILES = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".jsonl.zst", ".txt", ".txt.gz")
"""Names that a recipe reads as they are."""
OF_CHATS = frozenset({"chat_template", "sharegpt", "messages", "openai", "chatml"})
OF_TEXTS = frozenset({"completion", "pretrain"})
ALPACA = "alpaca"
DATA_SETS = "dataset_info.json"
MOST_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set as it is named there."""

    key: str
    name: str
    form: str = ""
    """How its rows are read there; empty where nothing is said."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file that a recipe reads."""
        return self.name.endswith(FILES)

    @property
    def file(self) -> str:
        """The file of its rows."""
        return self.name if self.is_file else f"{PurePath(self.name).name or 'train'}.jsonl"


def write_corpora(draft: Draft) -> None:
    """Writes the corpora, and notes what has to be done to their files."""
    corpora = draft.run.setting("corpora")
    found = list(_data_sets(draft, corpora)) or [DataSet("", "train.jsonl")]
    on_prompts = draft.take("loss_on_prompt")
    draft.say("train:", level=1, comment=draft.origin(corpora))
    for each in found:
        learn = "all" if each.form in OF_TEXTS or (on_prompts is not None and on_prompts.value) else "answers"
        if draft.run.value("task") == "pretrain":
            learn = "all"
        draft.say(f"- {{text: {scalar(each.file)}, learn: {learn}}}", level=2)
        _note_form(draft, each)
    _note_rest(draft, has_corpora=corpora is not None)


def _note_form(draft: Draft, each: DataSet) -> None:
    if not each.is_file and each.name.endswith(".json"):
        draft.note(f"a recipe reads an object a line: `jq -c '.[]' {each.name} > {each.file}`")
    elif not each.is_file and each.key:
        name, file = json.dumps(each.name), json.dumps(each.file)
        draft.note(
            f"the data set {each.name} has to be a file: "
            f'`datasets.load_dataset({name}, split="train").to_json({file})` in Python'
        )
    if each.form == ALPACA and draft.run.tool == "axolotl":
        draft.note(
            f"{each.key}: Axolotl writes `### Instruction:` around the text of an Alpaca row; here the model's own "
            "chat template is used"
        )
    elif each.form and each.form not in OF_CHATS | OF_TEXTS | {ALPACA}:
        draft.note(
            f"rows of the form `{each.form}` are not read here ({each.key}): write each as `prompt` and `completion`, "
            "or as `messages`"
        )


def _note_rest(draft: Draft, *, has_corpora: bool) -> None:
    for concept in ("packing", "packing_isolated", "gradient_checkpointing", "batch_unit"):
        draft.take(concept)
    template = draft.take("chat_template")
    if template is not None and template.is_written and template.value not in ("tokenizer_default", None):
        draft.note(
            f"{template.key} ({str(template.value)[:40]}) is left out: the template of the model's tokenizer is used"
        )
    if not has_corpora:
        draft.note("no data set is named there: name your files in `data.train`")
    if draft.run.value("validation"):
        draft.account(draft.run.setting("validation"))
        draft.note(
            "name a validation file in `data.valid`, as `{text: dev.jsonl, learn: answers}`: a share is not split off "
            "here"
        )


def _data_sets(draft: Draft, corpora: Setting | None) -> Iterator[DataSet]:
    """Those that are named, with what is said of each; what is read here counts as taken over."""
    if corpora is None:
        return
    draft.account(corpora)
    told = draft.run.keys.get(corpora.key)
    value: Any = None if told is None else told.value
    if draft.run.tool == "axolotl" and isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _of_axolotl(draft, mapping(item), key=f"{corpora.key}.{number}")
        return
    known: Mapping[str, Any] = _named_data_sets(draft) if draft.run.tool == "llamafactory" else {}
    for name in cast("list[Any]", corpora.value or []):
        entry = mapping(known.get(str(name)))
        file = entry.get("file_name")
        form = str(entry.get("formatting", ALPACA)) if entry else ""
        yield DataSet(corpora.key, _beside(draft, file) if isinstance(file, str) else str(name), form)


def _of_axolotl(draft: Draft, item: Mapping[str, Any], *, key: str) -> Iterator[DataSet]:
    for name in ("path", "type", "data_files", "ds_type", "split"):
        for written, setting in draft.run.keys.items():
            if written == f"{key}.{name}" or written.startswith(f"{key}.{name}."):
                draft.account(setting)
    form = item.get("type")
    if isinstance(form, str):
        form = form.partition(".")[0].partition(":")[0]
    files = item.get("data_files")
    names = cast("list[Any]", files) if isinstance(files, list) else [files or item.get("path")]
    for name in names:
        if isinstance(name, str) and name:
            yield DataSet(key, name, form if isinstance(form, str) else "own fields" if form else "")


def _named_data_sets(draft: Draft) -> Mapping[str, Any]:
    """What `dataset_info.json` says of the data sets, looked for from the file's folder and from here."""
    for place in _folders(draft):
        try:
            with (place / DATA_SETS).open("rb") as file:
                return mapping(json.loads(file.read(MOST_BYTES)))
        except (OSError, ValueError, RecursionError):
            continue
    return {}


def _folders(draft: Draft) -> list[Path]:
    written = draft.key("dataset_dir")
    folder = str(written.value) if written is not None and isinstance(written.value, str) else "data"
    return [Path(draft.run.document.path).parent / folder, Path(folder)]


def _beside(draft: Draft, file: str) -> str:
    place = next((each for each in _folders(draft) if (each / file).is_file()), None)
    return str(place / file) if place is not None else file
