"""C106 number-read-otherwise"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C106",
    name="number-read-otherwise",
    severity="error",
    message="{key}: {raw} is read as {value}",
    why="YAML 1.1 reads a number that begins with 0 as octal and one with colons in base 60: 012 is ten, and "
    "1:30 is ninety. Nothing says so later.",
    evidence=(
        Arithmetic(
            "012 = 1 * 8 + 2 = 10; 1:30 = 1 * 60 + 30 = 90 (integers of YAML 1.1, as PyYAML reads them)."
        ),
    ),
    fix=Fix("write the number that is meant in plain digits, or put the text in quotes"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 010\nlearning_rate: 0.0002\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 10\nlearning_rate: 0.0002\n",
    ),
    aliases=("TT803",),
    symptoms=("another number than in the file",),
)

_OCTAL = r"[-+]?0[0-7_]+"
_BASE_60 = r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"


def check(run: Description) -> Iterator[Diagnosis]:
    """Compares the characters with what the file's syntax made of them."""
    for setting in run.keys.values():
        number = setting.parsed
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not (":" in setting.raw or setting.raw.lstrip("+-").startswith("0")):
            continue  # compiling the patterns takes longer than the rest of this rule
        is_octal = re.fullmatch(_OCTAL, setting.raw) and number != int(setting.raw.replace("_", ""), 10)
        if is_octal or re.fullmatch(_BASE_60, setting.raw):
            yield RULE.at(setting, raw=setting.raw, value=number)
