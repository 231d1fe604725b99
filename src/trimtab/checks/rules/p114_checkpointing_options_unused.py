"""P114 checkpointing-options-unused"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P114",
    name="checkpointing-options-unused",
    severity="warning",
    message="`{key}` is set, and gradient checkpointing is off",
    why="The options are read only where checkpointing is on. They suggest that it is on, but memory use "
    "stays high.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "The keyword arguments are passed on where gradient_checkpointing is set, and read nowhere else.",
        ),
    ),
    fix=Fix("set `gradient_checkpointing: true`, or remove `{key}`"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_checkpointing": false, '
        '"gradient_checkpointing_kwargs": {"use_reentrant": false}}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_checkpointing": true, '
        '"gradient_checkpointing_kwargs": {"use_reentrant": false}}',
    ),
    symptoms=("out of memory", "gradient checkpointing saves nothing"),
)

_TOOLS = ("transformers", "trl", "axolotl")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is known to be off; activation offloading and FSDP have switches of their own."""
    switch = run.setting("gradient_checkpointing")
    if run.tool not in _TOOLS or switch is None or switch.value is not False or run.value("fsdp") is not None:
        return
    if own(run, "activation_offloading") is not None or own(run, "fsdp_config") is not None:
        return
    for key in ("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs"):
        options = own(run, key)
        if options is not None and options.value:
            yield RULE.at(options)
            return
