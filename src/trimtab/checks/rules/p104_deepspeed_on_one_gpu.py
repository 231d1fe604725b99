"""P104 deepspeed-on-one-gpu"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P104",
    name="deepspeed-on-one-gpu",
    severity="note",
    message="DeepSpeed runs on one GPU with nothing offloaded: there is no other process to share the state "
    "with",
    why="ZeRO divides optimizer state, gradients and weights among the processes. With one process it "
    "divides by one and adds its buffers. What helps on one GPU is offloading, 8-bit state, or gradients "
    "released in backward.",
    evidence=(
        Arithmetic("ZeRO's share per GPU is 1 / N of the state; for N = 1 it is all of it."),
        Maintainer(
            "https://github.com/pytorch/ao/blob/f2cd577/torchao/optim/README.md",
            "One GPU, 1.1B parameters: no offload 1.27 s and 9.82 GB a step, torchao's offload 1.52 s and "
            "5.24 GB, untuned ZeRO-Offload 3.13 s and 6.85 GB.",
        ),
    ),
    fix=Fix("leave DeepSpeed out, or offload the optimizer"),
    bad=Example(
        "accelerate.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 1\n"
        "mixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 2\n  offload_optimizer_device: none\n",
    ),
    good=Example(
        "accelerate.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_machines: 1\nnum_processes: 1\n"
        "mixed_precision: bf16\n",
    ),
    aliases=("ENV001",),
    tips=("S0-28",),
    symptoms=("out of memory", "slow", "DeepSpeed saves no memory"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the number of processes is written, and nothing is offloaded."""
    engine, devices = run.setting("deepspeed"), run.setting("devices")
    if engine is None or engine.value is not True or devices is None or devices.value != 1:
        return
    if run.value("offload") is False and devices.is_written:
        yield RULE.at(engine)
