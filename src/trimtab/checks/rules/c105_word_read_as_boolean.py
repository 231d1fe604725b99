"""C105 word-read-as-boolean"""

import re
from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.document import Entry
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C105",
    name="word-read-as-boolean",
    severity="error",
    message="{where_key}: {raw} is read as {value}, not as the word",
    why="YAML 1.1 reads yes, no, on and off as booleans. `save_strategy: no` becomes false, which is no "
    "strategy, and the language code `no` in a list of languages becomes false as well.",
    evidence=(
        Arithmetic(
            "The boolean of YAML 1.1 is y|n|yes|no|true|false|on|off in any case; PyYAML leaves out y and n."
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "__post_init__ makes IntervalStrategy(self.eval_strategy): False is none of its values and "
            "raises.",
        ),
    ),
    fix=Fix('put it in quotes: "{word}"', safety="same training"),
    bad=Example(
        "llama.yaml",
        "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\n"
        "dataset: alpaca_en_demo\noutput_dir: out\neval_strategy: no\n",
    ),
    good=Example(
        "llama.yaml",
        "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\n"
        'dataset: alpaca_en_demo\noutput_dir: out\neval_strategy: "no"\n',
    ),
    aliases=("TT803",),
    symptoms=(
        "False is not a valid IntervalStrategy",
        "a language is missing",
        "yes or no is read as a boolean",
    ),
)

_WORDS = frozenset({"yes", "no", "on", "off", "y", "n"})
_BARE = r"(?i)(?<![^\s,\[-])(?:yes|no|on|off|y|n|true|false)(?![^\s,\]])"
"""An unquoted word of a list, as it is in the file."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Keys that take a text, and members of a list whose other members are texts."""
    for setting in run.keys.values():
        is_word = isinstance(setting.parsed, bool) and setting.raw.lower() in _WORDS
        if is_word and isinstance(setting.value, bool) and _wants_text(run, setting.key):
            where = setting.value_place or setting.place
            yield _told(where, setting.key, setting.raw, setting.value, SetValue(setting.key, setting.raw))
    for entry in run.document.entries.values() if run.document.syntax == "yaml" else ():
        if isinstance(entry.value, list):
            yield from _in_list(entry)


def _wants_text(run: Description, name: str) -> bool:
    key = run.table.key(name) if run.table is not None else None
    if key is None:
        return False
    is_text = "text" in key.types and not {"boolean", "any"} & set(key.types)
    return is_text and not any(isinstance(choice, bool) for choice in key.choices)


def _in_list(entry: Entry) -> Iterator[Diagnosis]:
    members = cast("list[Any]", entry.value)
    booleans = [member for member in members if isinstance(member, bool)]
    others = [member for member in members if not isinstance(member, bool)]
    if not booleans or not others or not all(isinstance(member, str) for member in others):
        return
    bare = re.findall(_BARE, entry.raw)
    words = [word for word in bare if word.lower() in _WORDS]
    if words and len(bare) == len(booleans):
        left = iter(bare)
        meant = [next(left) if isinstance(member, bool) else member for member in members]
        yield _told(
            entry.value_place, entry.key, words[0], booleans[bare.index(words[0])], SetValue(entry.key, meant)
        )


def _told(place: Place, key: str, raw: str, value: bool, edit: SetValue) -> Diagnosis:
    return RULE.at(place, edits=(edit,), where_key=key, raw=raw, value=str(value).lower(), word=raw)
