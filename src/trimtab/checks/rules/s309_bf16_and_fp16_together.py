"""S309 bf16-and-fp16-together"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S309",
    name="bf16-and-fp16-together",
    severity="error",
    message="bf16 and fp16 are both on: DeepSpeed refuses to start",
    why="A run calculates in one of them, and the two need different machinery: fp16 scales the loss, bf16 does "
    "not.",
    evidence=(
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeed/blob/edaa722/deepspeed/runtime/config.py",
            '"bfloat16 and fp16 modes cannot be simultaneously enabled".',
        ),
    ),
    fix=Fix("keep one of them: bf16 where the GPU has it (Ampere or later)"),
    bad=Example(
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, '
        '"fp16": {"enabled": true}}',
    ),
    good=Example(
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}}',
    ),
    aliases=("TT205",),
    symptoms=("AssertionError at start", "other precision than configured"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for DeepSpeed; Hugging Face's refusal is C119's, and Axolotl's silent choice C110's."""
    if run.tool != "deepspeed":
        return
    brain = run.written("bf16.enabled") or run.written("bfloat16.enabled")
    half = run.written("fp16.enabled")
    if brain is not None and half is not None and brain.value is True and half.value is True:
        yield RULE.at(half)
