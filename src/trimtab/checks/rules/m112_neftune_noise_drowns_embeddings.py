"""M112 neftune-noise-drowns-embeddings"""

from collections.abc import Iterator
from math import sqrt

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer, Paper
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M112",
    name="neftune-noise-drowns-embeddings",
    severity="note",
    message="NEFTune adds noise of norm {noise:.2f} or more to each embedding (alpha {alpha}, at most "
    "{length} tokens), {against}",
    why="The noise is alpha / sqrt(3 L) per token whatever the width: tuned on chats of 512 tokens, where "
    "alpha 5 gives 0.13, it is 0.65 at 20 tokens. Gains are known for long chats, none for traditional "
    "tasks; what is learned from sentences may drown in it.",
    evidence=(
        Arithmetic(
            "Uniform noise in alpha / sqrt(L d) * [-1, 1] has variance alpha^2 / (3 L d) per component, so "
            "norm alpha / sqrt(3 L) over d of them; an embedding from N(0, 0.02) has norm 0.02 sqrt(d)."
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/integrations/neftune.py",
            "dims = length times width of the padded batch; uniform noise of alpha / sqrt(dims).",
        ),
        Paper(
            "https://www.scholarfeed.org/paper/2310.05914v2",
            "NEFTune: AlpacaEval from 29.79% to 64.69% for Llama-2-7B on Alpaca; instruction data, long "
            "answers.",
        ),
    ),
    fix=Fix("lower alpha to {wanted:.1f} or less, or leave NEFTune out"),
    bad=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 24\nmicro_batch_size: 16\ngradient_accumulation_steps: "
        "1\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nadapter: lora\nlora_r: "
        "16\nlora_alpha: 32\nlora_target_linear: true\nneftune_noise_alpha: 10\n",
    ),
    good=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 24\nmicro_batch_size: 16\ngradient_accumulation_steps: "
        "1\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nadapter: lora\nlora_r: "
        "16\nlora_alpha: 32\nlora_target_linear: true\n",
    ),
    aliases=("NEFT001",),
    tips=("S0-74",),
    symptoms=("loss flat", "worse than without NEFTune", "model outputs nonsense"),
)

MOST = 0.3
"""Noise as a share of the embedding's norm."""
OF_THE_PAPER = 5 / sqrt(3 * 512)
"""The noise of the smallest alpha of the paper, 5, over its longest answers: 0.13."""
TIMES = 2
SHORT = 128
"""If no text is longer than SHORT, TIMES that noise is reported, whatever the embeddings are."""
SPREAD = 0.02
WIDEST = 8192
"""Where the width is not known, that of the widest models people fine-tune: the mildest verdict."""
_SCALED = frozenset(
    {
        "t5",
        "mt5",
        "umt5",
        "longt5",
        "marian",
        "m2m_100",
        "mbart",
        "bart",
        "pegasus",
        "gemma",
        "gemma2",
        "gemma3_text",
    }
)
"""Families whose embeddings are larger, or multiplied by sqrt(width)."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where even the longest sequence that is allowed is short: shorter ones get more noise, never less."""
    alpha, length = run.setting("neftune_alpha"), run.setting("sequence_length")
    if alpha is None or length is None or alpha.value <= 0 or length.value <= 0:
        return
    if run.value("model_family") in _SCALED or run.value("packing") is True:
        return
    norm = SPREAD * sqrt(max(1, run.value("hidden_size") or WIDEST))
    noise = alpha.value / sqrt(3 * length.value)
    is_large = noise > MOST * norm
    if is_large or (length.value <= SHORT and noise >= TIMES * OF_THE_PAPER):
        against = (
            f"against an embedding norm of about {norm:.2f}"
            if is_large
            else f"{noise / OF_THE_PAPER:.1f} times the noise at which the paper reports gains"
        )
        wanted = MOST * norm if is_large else OF_THE_PAPER
        yield RULE.at(
            alpha,
            severity="warning" if noise > norm else None,
            noise=noise,
            alpha=f"{alpha.value:g}",
            length=length.value,
            against=against,
            wanted=wanted * sqrt(3 * length.value),
        )
