"""S117 batch-of-too-many-tokens"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Folklore
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.step_size import tokens_per_step

RULE = Rule(
    code="S117",
    name="batch-of-too-many-tokens",
    severity="note",
    message="a step takes {tokens:,} tokens; above 4 to 8 million more data for each step rarely pays",
    why="Beyond the critical batch size a step gets more expensive but no better. Where that lies depends "
    "on the data and how far training has come: the largest runs use 16 million and more late in "
    "training, mixtures of experts more again.",
    evidence=(
        Folklore(
            "A list of practitioners for large models says not to exceed 4 to 8 million tokens with ordinary "
            "set-ups; cited from memory: Llama 3 went up to 16 million, DeepSeek-V3 to about 63 million."
        ),
        Arithmetic("micro-batch * length * accumulation * devices."),
    ),
    fix=Fix("take fewer micro-batches in a step and compare the loss at the same number of tokens"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\npretraining_dataset:\n  - path: corpus\nmax_steps: "
        "10000\nmicro_batch_size: 16\ngradient_accumulation_steps: 128\nsequence_len: 8192\nsample_packing: "
        "true\nlearning_rate: 0.00001\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\npretraining_dataset:\n  - path: corpus\nmax_steps: "
        "10000\nmicro_batch_size: 16\ngradient_accumulation_steps: 8\nsequence_len: 8192\nsample_packing: "
        "true\nlearning_rate: 0.00001\n",
    ),
    aliases=("BATCH003",),
    tips=("S4-04", "S2-27", "S3-09"),
    symptoms=("loss falls slowly", "training is slow"),
)

MOST = 8_000_000


def check(run: Description) -> Iterator[Diagnosis]:
    """Where tokens are counted, or sequences are packed to a known length."""
    tokens = tokens_per_step(run)
    where = run.setting("accumulation") or run.setting("micro_batch")
    if tokens is not None and tokens > MOST and where is not None:
        yield RULE.at(where if where.is_written else run.place, tokens=tokens)
