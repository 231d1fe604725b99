"""P105 paged-state-needs-host-memory"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P105",
    name="paged-state-needs-host-memory",
    severity="note",
    message="`{variant}` may move up to {state:.0f} GB of state of {billions:g}B parameters to host memory, "
    "which must be free there",
    why="A paged optimizer has its state in memory that GPU and host share and that moves when the GPU is "
    "full. It saves a run from short peaks. Where the state does not fit for good, every step moves it over "
    "the bus, and where the host is full too the process is killed without a message.",
    evidence=(
        Arithmetic("Two moments of 4 bytes (32 bits) or 1 byte (8 bits) per trained parameter."),
        Maintainer(
            "https://huggingface.co/docs/bitsandbytes/v0.50.1/reference/optim/adam.md",
            "'paged optimizers which take advantage of CUDAs unified memory to transfer memory from the GPU to the CPU "
            "when GPU memory is exhausted'.",
        ),
    ),
    fix=Fix("keep that much host memory free, or take an 8-bit state that fits the GPU"),
    bad=Example(
        "fft.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: paged_adamw_32bit\nlearning_rate: 2e-4\nbf16: true\n",
    ),
    good=Example(
        "fft.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_bnb_8bit\nlearning_rate: 2e-4\nbf16: true\n",
    ),
    tips=("S0-27",),
    symptoms=("killed", "slow", "out of memory on the host"),
)

FROM_GB = 8
"""Half the host memory of a small machine with a GPU."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for full training of a model of known size; an adapter's state is small."""
    paged, billions, variant = (
        run.setting("optimizer_paged"),
        run.value("parameters_billion"),
        run.value("optimizer_variant"),
    )
    if paged is None or paged.value is not True or billions is None or run.value("adapter") != "none":
        return
    state = billions * 2 * (run.value("optimizer_bits") or 32) / 8
    if state >= FROM_GB:
        yield RULE.at(paged, variant=variant or paged.key, state=state, billions=billions)
