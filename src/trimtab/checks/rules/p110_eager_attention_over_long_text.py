"""P110 eager-attention-over-long-text"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P110",
    name="eager-attention-over-long-text",
    severity="note",
    message="eager attention over {length:,} tokens keeps all scores for backward: about {size:.1f} GB per layer and "
    "sequence with {heads} heads",
    why="Eager attention keeps a matrix of length x length per head. SDPA and Flash Attention calculate the "
    "same and keep a vector. Eager is needed where the attention weights themselves are wanted, and asked "
    "for by the makers of Gemma 2.",
    evidence=(
        Arithmetic(
            "heads * length^2 * 2 bytes, for scores and again for weights: 32 heads at 4,096 tokens are 2 x 1.07 "
            "GB per layer and sequence."
        ),
    ),
    fix=Fix("set it to `sdpa` or `flash_attention_2`"),
    bad=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nattn_implementation: eager\n",
    ),
    good=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nattn_implementation: sdpa\n",
    ),
    aliases=("ATTN001",),
    tips=("S0-125",),
    symptoms=("out of memory", "slow"),
)

LONG, LONGEST = 1024, 10**8
TYPICAL_HEADS, MOST_HEADS = 32, 1024
_EAGER_BY_DESIGN = frozenset({"gemma2", "gemma3", "gemma3_text", "gpt_oss"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where eager attention is written and the longest sequence is known."""
    kernel, length = run.setting("attention_kernel"), run.value("sequence_length")
    if kernel is None or kernel.value != "eager" or not kernel.is_written:
        return
    if length is None or not LONG <= length <= LONGEST or _wants_eager(run):
        return
    heads = min(max(1, run.value("heads") or TYPICAL_HEADS), MOST_HEADS)
    yield RULE.at(kernel, length=length, heads=heads, size=2 * heads * length**2 * 2 / 1e9)


def _wants_eager(run: Description) -> bool:
    name = str(run.value("model_name") or "").lower()
    return run.value("model_family") in _EAGER_BY_DESIGN or "gemma" in name or "gpt-oss" in name
