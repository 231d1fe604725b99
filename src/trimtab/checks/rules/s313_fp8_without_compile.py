"""S313 fp8-without-compile"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S313",
    name="fp8-without-compile",
    severity="warning",
    message="fp8 products without `torch_compile` are not faster than bf16",
    why="Casting to fp8 and finding its scales costs several passes over each tensor. Only a compiler makes "
    "one kernel of them; without it the run is slower and less exact at once.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            'check_fp8_config: "torch_compile is strongly recommended for FP8 training in order to see speed '
            'improvements."',
        ),
    ),
    fix=Fix("set `torch_compile: true`", safety="changes training"),
    bad=Example(
        "fp8.yaml",
        "base_model: Qwen/Qwen2.5-0.5B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 2048\nmicro_batch_size: 4\ngradient_accumulation_steps: 1\nnum_epochs: "
        "1\noptimizer: optimi_adamw\nlearning_rate: 2e-5\nbf16: true\nfp8: true\n",
    ),
    good=Example(
        "fp8.yaml",
        "base_model: Qwen/Qwen2.5-0.5B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 2048\nmicro_batch_size: 4\ngradient_accumulation_steps: 1\nnum_epochs: "
        "1\noptimizer: optimi_adamw\nlearning_rate: 2e-5\nbf16: true\nfp8: true\ntorch_compile: true\n",
    ),
    tips=("S2-18",),
    symptoms=("slow", "fp8 slower than bf16"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for Axolotl, whose fp8 is torchao's; Accelerate's may be Transformer Engine's, which needs no compiler."""
    fp8 = run.setting("fp8")
    if run.tool != "axolotl" or fp8 is None or fp8.value is not True or run.value("compile") is True:
        return
    if run.setting("compile") is not None or run.written("torch_compile") is None:
        yield RULE.at(fp8)
