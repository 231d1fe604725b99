"""P112 deepspeed-disagrees"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="P112",
    name="deepspeed-disagrees",
    severity="error",
    message="`{key}` is {here}, and DeepSpeed's `{there}` is {value}: the Trainer refuses to start",
    why="Both configure the same thing, and the Trainer compares them once the model is loaded. `auto` in "
    "DeepSpeed's file takes over what the training arguments say.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/integrations/deepspeed.py",
            '"Please correct the following DeepSpeed config values that mismatch TrainingArguments values": '
            "micro-batch, "
            "accumulation, clipping, learning rate, eps, weight decay, and both precisions.",
        ),
    ),
    fix=Fix('set `{there}` to "auto" in the DeepSpeed file'),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, '
        '"deepspeed": {"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 1}}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, '
        '"deepspeed": {"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": "auto"}}',
    ),
    symptoms=(
        "ValueError at start",
        "mismatch TrainingArguments values",
        "train_micro_batch_size_per_gpu and per_device_train_batch_size differ",
        "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size",
        "AssertionError: Check batch related parameters",
    ),
)

_SAME: dict[str, str] = {
    "train_micro_batch_size_per_gpu": "micro_batch",
    "gradient_accumulation_steps": "accumulation",
    "gradient_clipping": "clip",
    "optimizer.params.lr": "learning_rate",
    "optimizer.params.eps": "epsilon",
    "optimizer.params.weight_decay": "weight_decay",
}
_PRECISIONS = {"bf16.enabled": "bf16", "fp16.enabled": "fp16"}
_TOOLS = ("transformers", "trl", "llamafactory")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where DeepSpeed's settings are in the same file, or in a file of this folder that it names."""
    if run.tool not in _TOOLS or run.value("batch_finder") is True:
        return
    theirs = _theirs(run)
    for there, concept in _SAME.items():
        mine, other = run.setting(concept), theirs.get(there)
        if (
            mine is not None
            and mine.origin != "beside"
            and other is not None
            and _differ(mine.value, other.value)
        ):
            where = mine if mine.is_written else other
            yield RULE.at(where, here=f"{mine.value:g}", there=there, value=_text(other.value))
    for there, name in _PRECISIONS.items():
        flag, other = run.written(name), theirs.get(there)
        if flag is None or other is None or not (_is_flag(flag.value) and _is_flag(other.value)):
            continue
        if flag.value != other.value:
            yield RULE.at(flag, here=flag.value, there=there, value=other.value)


def _theirs(run: Description) -> Mapping[str, Setting]:
    inline = {setting.key.removeprefix("deepspeed."): setting for setting in run.below("deepspeed")}
    if inline:
        return inline
    named = own(run, "deepspeed")
    if named is None or not isinstance(named.value, str):
        return {}
    name = PurePosixPath(named.value).name
    for other in run.nearby:
        if other.tool == "deepspeed" and PurePosixPath(other.document.path).name == name:
            return other.keys
    return {}


def _differ(here: object, there: object) -> bool:
    """Also a number that is written as text: the Trainer compares the two as they are."""
    if isinstance(there, str) and there != "auto":
        return _is_number(here)
    return _is_number(here) and _is_number(there) and here != there


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else f'the text "{value}"'


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)
