"""C103 value-of-wrong-type"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.keytable import Key
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C103",
    name="value-of-wrong-type",
    severity="error",
    message="{key} is {value}, {kind}, where {tool} takes {wanted}",
    why="Dataclasses do not check types, so the wrong one is found only where it is used, if at all. The "
    "text `false` where a boolean is wanted is not empty and so counts as true.",
    evidence=(
        Arithmetic('In Python bool("false") is True: every text but the empty one is true.'),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/hf_argparser.py",
            "parse_dict and parse_json_file hand values to the dataclass as they are, without conversion.",
        ),
    ),
    fix=Fix("write {wanted}"),
    bad=Example("args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": "false"}'),
    good=Example("args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": false}'),
    symptoms=("a switch that is off is on", "TypeError at start"),
)

_WORDS = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "text": "a text",
    "list": "a list",
    "mapping": "a mapping",
}


_KINDS = {
    "bool": "a boolean",
    "str": "a text",
    "list": "a list",
    "dict": "a mapping",
    "float": "a number",
    "int": "a number",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Compares with the tool's table; silent for what other rules read: numbers as text and words as booleans."""
    table = run.table
    if table is None:
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is None or "any" in key.types or key.open or setting.value in key.choices:
            continue
        is_wrong = not any(_is_a(setting.value, wanted) for wanted in key.types)
        is_typed = (
            run.document.syntax == "shell" and isinstance(setting.value, str) and is_number(setting.value)
        )
        if is_wrong and (is_typed or not _is_of_another_rule(setting, key, table.tool)):
            wanted = " or ".join(_WORDS[name] for name in key.types if name in _WORDS)
            text = repr(setting.value) if isinstance(setting.value, str) else str(setting.value)
            yield RULE.at(
                setting, value=_short(text), kind=_kind(setting.value), tool=table.tool, wanted=wanted
            )


def _is_a(value: Any, wanted: str) -> bool:
    match wanted:
        case "number":
            return isinstance(value, int | float)
        case "integer":
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        case "boolean":
            return isinstance(value, bool) or value in (0, 1)
        case "text":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case "list":
            return isinstance(value, list | tuple)
        case _:
            return isinstance(value, dict)


def _is_of_another_rule(setting: Setting, key: Key, tool: str) -> bool:
    value, name = setting.value, key.name
    if value is None or isinstance(setting.parsed, bool):
        return True
    if isinstance(value, float) and 0 < value < 1 and name.endswith("warmup_steps") and tool != "axolotl":
        return True  # a share in transformers 5, and a rule of its own before
    if isinstance(value, str) and {"number", "integer"} & set(key.types):
        return is_number(value)
    return False


def is_number(text: str) -> bool:
    """Whether a text would be a number if it were read as one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kind(value: object) -> str:
    return _KINDS.get(type(value).__name__, type(value).__name__)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
