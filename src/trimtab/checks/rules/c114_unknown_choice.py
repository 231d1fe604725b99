"""C114 unknown-choice"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.keytable import Key
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C114",
    name="unknown-choice",
    severity="error",
    message="{key} is `{value}`, which {tool} does not know{meant}",
    why="The tool has a fixed set of words here and stops at any other, sometimes only when the word is "
    "used.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "__post_init__ turns the text into an enumeration (SchedulerType, OptimizerNames, "
            "IntervalStrategy), which raises for any other word.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/fairseq/blob/3d262bb/fairseq/options.py",
            '`choices=REGISTRY["registry"].keys()` and `choices=ARCH_MODEL_REGISTRY.keys()`: argparse refuses others.',
        ),
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/src/training/validator.cpp",
            "'Unknown validation metric', 'Unknown model type' and the like abort the run once they are reached.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/arguments.py",
            "Such options have `choices=`: argparse refuses others.",
        ),
    ),
    fix=Fix("write one of {choices}"),
    bad=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "lr_scheduler_type": "cosin"}'
    ),
    good=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "lr_scheduler_type": "cosine"}'
    ),
    symptoms=("is not a valid SchedulerType", "invalid choice"),
)

MOST = 8
"""How many choices are listed; the rest are counted."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Texts alone, and texts in a list; numbers and booleans are for other rules."""
    table = run.table
    if table is None:
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is None or not key.choices:
            continue
        if table.tool != "llamafactory" and _is_number_of_none(setting.value, key.choices):
            yield _told(setting, key, f"{setting.value:g}", table.tool)
        if not any(isinstance(choice, str) for choice in key.choices):
            continue
        if not all(isinstance(choice, str | bool) for choice in key.choices):
            continue
        value = setting.value
        members = cast("list[Any]", value) if isinstance(value, list) else [value]
        unknown = [word for word in members if isinstance(word, str) and not _is_among(word, key.choices)]
        if unknown and not _may_be_free(setting, key):
            yield _told(setting, key, unknown[0], table.tool)


def _is_number_of_none(value: Any, choices: Sequence[Any]) -> bool:
    """Whether a number is none of the choices, all of which are numbers: stage 4 of ZeRO."""
    numbers = [each for each in choices if type(each) in (int, float)]
    return len(numbers) == len(choices) and type(value) in (int, float) and value not in numbers


def _is_among(word: str, choices: Sequence[Any]) -> bool:
    """Whether a word is one of the choices; where these are truths as well, text for one is taken as such."""
    return word in choices or (True in choices and word.lower() in _TRUTHS)


_TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", "t", "f", "y", "n"})


def _may_be_free(setting: Setting, key: Key) -> bool:
    """A text with a path or a list in it, or one that is filled in elsewhere."""
    text = str(setting.value)
    return (
        "any" in key.types
        or key.open
        or "${" in text
        or "{{" in text
        or "<" in text
        or "," in text
        or ("/" in text and key.name == "attn_implementation")  # a kernel of the hub
        or text == ""
    )


def _told(setting: Setting, key: Key, word: str, tool: str) -> Diagnosis:
    from trimtab.checks.nearest import nearest  # only where a word is unknown

    words = [choice for choice in key.choices if isinstance(choice, str)]
    meant = nearest(word, words, cutoff=0.7)
    is_whole = isinstance(setting.value, str)
    few = len(key.choices) <= MOST
    return RULE.at(
        setting,
        edits=(SetValue(setting.key, meant),) if meant and is_whole else (),
        value=word,
        tool=tool,
        meant=f": did you mean `{meant}`?" if meant else "",
        choices=", ".join(map(_shown, key.choices))
        if few
        else f"its {len(key.choices)} words, such as {', '.join(map(_shown, key.choices[:MOST]))}",
    )


def _shown(choice: Any) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)
