"""S311 tf32-off"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S311",
    name="tf32-off",
    severity="note",
    message="the run calculates in fp32 and `{key}` turns TF32 off",
    why="On NVIDIA GPUs from Ampere on TF32 keeps the range of fp32 and rounds the factors of matrix "
    "products to 10 bits; the sums stay in fp32. Off, products run without the tensor cores. PyTorch leaves "
    "it off by default for products.",
    evidence=(
        Maintainer(
            "https://github.com/pytorch/pytorch/pull/79537",
            "numerical_accuracy.rst: with TF32 only the first 10 bits of the mantissa are read; most networks "
            "converge as with fp32; since 1.12 it is off by default for matrix products.",
        ),
    ),
    fix=Fix("set it to true, or use bf16"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": false, "fp16": false, "tf32": '
        "false}",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "bf16": false, "fp16": false, "tf32": true}',
    ),
    aliases=("HW002",),
    tips=("S2-16",),
    symptoms=("slow", "GPU is not busy"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where TF32 is written off and nothing runs in 16 bits."""
    tf32 = run.setting("tf32")
    if tf32 is None or not tf32.is_written or tf32.value is not False or run.value("autocast") != "none":
        return
    if run.value("weights_dtype") in (None, "fp32") and run.value("quantization_bits") is None:
        yield RULE.at(tf32)
