"""C104 number-read-as-text"""

import math
from collections.abc import Iterator

from trimtab.checks.concepts import CONCEPTS
from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C104",
    name="number-read-as-text",
    severity="error",
    message="{key}: {raw} is read as a text, and {tool} does not turn it into a number",
    why="Between quotes a number is a text, in JSON and in YAML. Without them YAML 1.1, which PyYAML reads, knows a "
    "number with an exponent only with a point: 1e-4 is a text, 1.0e-4 a number. Some tools convert it later, this "
    "one does not.",
    evidence=(
        Arithmetic(
            "The float of YAML 1.1 is [-+]?([0-9][0-9_]*)?\\.[0-9.]*([eE][-+][0-9]+)?: the point is not "
            "optional, nor is the sign of the exponent."
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/issues/4014",
            "A learning rate of 1e-4 in YAML arrives as a text.",
            opened=False,
        ),
    ),
    fix=Fix("write {number}, without quotes and with a point before the exponent", safety="same training"),
    bad=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "weight_decay": "1e-2"}'
    ),
    good=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "weight_decay": 0.01}'
    ),
    aliases=("TT803",),
    symptoms=(
        "TypeError: '<=' not supported between instances of 'float' and 'str'",
        "learning rate is a string",
        "1e-5 is read as a string in YAML",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Only where the value is still a text after the tool's own conversion; of a command line all are texts."""
    if run.document.syntax == "shell":
        return
    for setting in run.keys.values():
        if isinstance(setting.value, str) and _wants_number(run, setting):
            number = _number(setting.value)
            if number is not None:
                yield RULE.at(
                    setting,
                    edits=(SetValue(setting.key, number),),
                    raw=setting.raw or repr(setting.value),
                    tool=run.tool,
                    number=_written(number),
                )


def _wants_number(run: Description, setting: Setting) -> bool:
    key = run.table.key(setting.key) if run.table is not None else None
    if key is not None:
        return bool({"number", "integer"} & set(key.types)) and not {"text", "any"} & set(key.types)
    named = (concept for concept, other in run.concepts.items() if other.key == setting.key)
    return any(CONCEPTS[concept].type in (int, float) for concept in named)


def _number(text: str) -> int | float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and "e" not in text.lower() and "." not in text else number


def _written(number: int | float) -> str:
    text = repr(number)
    return text if "e" not in text or "." in text else text.replace("e", ".0e")
