"""S301 updates-round-away"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer, Paper
from trimtab.checks.half_precision import half_weights, is_adam, lost_share, stored_dtype, unless_launched
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S301",
    name="updates-round-away",
    severity="warning",
    message="weights are {dtype} without an fp32 copy, and at a learning rate of {rate} about {share} of the "
    "weights do not change in a step{unless}",
    why="An Adam step moves each weight by about the learning rate. Where that is less than half the "
    "distance to the next {dtype} number, rounding to the nearest puts the weight back, every time. The loss "
    "still falls, because small weights move; norm weights near 1 stay as they are at any rate below 0.0019 "
    "(bf16).",
    evidence=(
        Paper(
            "https://arxiv.org/abs/2502.20566",
            "BF16 with stochastic rounding beats mixed precision up to 6.7B parameters; BF16 with nearest "
            "rounding degrades. 1.54 times the throughput, 30% less memory.",
        ),
        Maintainer(
            "https://github.com/pytorch/ao/blob/f2cd577/torchao/optim/README.md",
            '"if weight update is smaller than 1e-3 of the weight magnitude, there will be no change to the '
            'weight (using nearest rounding). This is highly problematic for full BF16 training".',
        ),
        Arithmetic(
            "bf16 numbers in [2^e, 2^(e+1)) are 2^(e-7) apart, so that an update u is lost for all |w| >= "
            "2^E with 2^E the least power of two above 256 u (fp16: 2048 u). For w from N(0, 0.02) that is "
            "erfc(2^E / (0.02 sqrt 2)): 12% at 1e-4, 43% at 5e-5, 70% at 2e-5, 85% at 1e-5, 98% at 1e-6."
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "full.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\noutput_dir: out\npure_bf16: true\nlearning_rate: 1.0e-5\nadam_beta2: 0.95\n",
    ),
    good=Example(
        "full.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: "
        "qwen\ndataset: alpaca_en_demo\noutput_dir: out\nbf16: true\nlearning_rate: 1.0e-5\nadam_beta2: 0.95\n",
    ),
    aliases=("PREC001", "TT201"),
    tips=("S0-102", "S0-126", "S2-13"),
    symptoms=(
        "loss falls slowly",
        "weights do not change",
        "worse than LoRA",
        "fine-tuning has no effect",
        "loss does not go down in bf16",
        "bf16 weights do not move at a small learning rate",
        "bf16 training stops improving early while fp32 goes on",
        "pure bf16 plateaus",
    ),
)

NOTICEABLE = 0.2
"""Share of lost updates from which it is worth a word."""
ALMOST_ALL = 0.9
"""Share from which a script of a Trainer gets a warning, although a launcher might bring fp32 weights."""
_OF_TORCHAO = ("ao_", "AdamW4bit", "AdamWFp8", "adamw_torch_8bit", "adamw_torch_4bit")
_WAYS = {
    "axolotl": "round stochastically: `optimizer: adamw_torch_8bit` with `optim_args: "
    "{bf16_stochastic_round: true}`; or keep the rest of each sum: `optimizer: optimi_adamw`",
    "llamafactory": "write `bf16: true` in place of `pure_bf16: true`: then the trained weights are fp32",
    "eole": "set `use_amp: true`: then the weights are fp32",
    "trl": "load in fp32 (`dtype: float32`) and keep `bf16: true`, or take `optim: adamw_torch_8bit` with "
    "`optim_args: bf16_stochastic_round=True`",
}
_WAY = (
    'load the weights in fp32 (`dtype="float32"`) and let autocast (`bf16=True`) do the rest, or take an '
    "optimizer with stochastic rounding (`adamw_torch_8bit` with "
    '`optim_args="bf16_stochastic_round=True"`)'
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where dtype, learning rate and optimizer are known; torchao's optimizers have their own rule."""
    weights, rate, dtype = half_weights(run), run.setting("learning_rate"), stored_dtype(run)
    if weights is None or rate is None or dtype is None or not 0 < rate.value < 1:
        return
    if not _rounds_to_nearest(run):
        return
    share = lost_share(rate.value, dtype)
    if share >= NOTICEABLE:
        # What `auto` resolves to is known from the family's published files, not from this one.
        unless = unless_launched(run)
        severity = "note" if weights.value == "auto" or (unless and share < ALMOST_ALL) else None
        yield RULE.at(
            weights if weights.is_written else rate,
            severity=severity,
            dtype=dtype,
            rate=f"{rate.value:g}",
            share=f"{share:.0%}",
            unless=unless,
            way=_WAYS.get(run.tool, _WAY),
        )


def _rounds_to_nearest(run: Description) -> bool:
    """Adam and Lion move a weight by about the learning rate; others are left out."""
    if run.value("optimizer") is None:
        return is_adam(run)
    variant = run.value("optimizer_variant") or ""
    is_known = is_adam(run) or run.value("optimizer") == "lion"
    return is_known and run.value("stochastic_rounding") is False and not variant.startswith(_OF_TORCHAO)
