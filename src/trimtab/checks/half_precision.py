"""Which runs keep their trained weights in 16 bits alone, and what rounding does to them."""

from math import erfc, floor, log2, sqrt

from trimtab.checks.description import Description
from trimtab.checks.own_key import is_unset
from trimtab.checks.setting import Setting

TYPICAL_SPREAD = 0.02
"""Standard deviation of a transformer's weight matrices at their start (GPT-2's and Llama's `initializer_range`)."""
STORED_IN_BF16 = frozenset({"gemma2", "mistral", "mixtral", "phi3", "qwen2", "qwen3"})
"""Families whose published checkpoints are bf16, so that a dtype of `auto` is bf16."""
OVERFLOWING = {
    "t5": "T5", "mt5": "mT5", "umt5": "UMT5", "longt5": "LongT5", "gemma3": "Gemma 3", "gemma3_text": "Gemma 3",
    "gemma3n": "Gemma 3n",
}  # fmt: skip
"""Families pretrained in bf16 whose activations pass the largest number of fp16, by `model_type`, with their names."""
_MANTISSA = {"bf16": 7, "fp16": 10}
_WITHOUT_ADAPTERS = frozenset({"opennmt", "eole", "mammoth", "trimtab"})
_SHARDED = ("deepspeed", "deepspeed_config", "fsdp", "fsdp_config")
_WITH_LAUNCHER = frozenset({"accelerate-launch", "trl"})
"""Commands that take DeepSpeed or FSDP from a file of the machine where no option names one."""


def half_weights(run: Description) -> Setting | None:
    """What says that the weights which are trained are bf16 or fp16, without an fp32 copy of them anywhere; None if
    they are not, or nobody can say. DeepSpeed keeps an fp32 copy; FSDP is given one where mixed precision is on. A
    script counts as started by itself: `unless_launched` is what to add."""
    dtype = run.setting("weights_dtype")
    if dtype is None or stored_dtype(run) is None or is_sharded(run) or not trains_everything(run):
        return None
    if run.document.syntax != "python" and may_be_sharded(run):
        return None
    return dtype


def stored_dtype(run: Description) -> str | None:
    """bf16 or fp16 of the weights, `auto` resolved where the family is known; None for anything else."""
    dtype = run.value("weights_dtype")
    if dtype == "auto":
        return "bf16" if run.value("model_family") in STORED_IN_BF16 else None
    return dtype if dtype in _MANTISSA else None


def is_sharded(run: Description) -> bool:
    """Whether DeepSpeed or FSDP holds the weights."""
    told = (
        run.value("deepspeed") is True or run.value("zero_stage") is not None or run.value("fsdp") is not None
    )
    return told or any(setting.value for name in _SHARDED if (setting := run.written(name)) is not None)


def may_be_sharded(run: Description) -> bool:
    """Whether what starts the run may bring DeepSpeed or FSDP: a Trainer's script or file of arguments says nothing of
    its launcher (`accelerate launch --config_file zero3.yaml`). A notebook, Axolotl and LLaMA-Factory start themselves,
    and have it in the file; a launch line says it, or a file beside it."""
    if run.tool not in ("transformers", "trl", "torch", "peft"):
        return False
    names = {call.name for call in run.document.calls}
    if run.document.syntax == "shell":
        return bool(names & _WITH_LAUNCHER) and run.value("sharded") is not False
    if run.document.syntax == "python" and (is_own_loop(run) or _is_on_one_device(run)):
        return False
    return not run.document.path.endswith(".ipynb") or "notebook_launcher" in names


_LAUNCHED = frozenset({"accelerate", "deepspeed", "lightning", "pytorch_lightning", "colossalai"})


def is_own_loop(run: Description) -> bool:
    """Whether a script steps its weights itself, so that a launcher can bring nothing that it does not mention."""
    names = {call.name for call in run.document.calls}
    is_stepping = {"backward", "step"} <= names and not any(name.endswith("Trainer") for name in names)
    return is_stepping and not run.document.imports & _LAUNCHED and "FSDP" not in run.document.text


def _is_on_one_device(run: Description) -> bool:
    """Whether Lightning's Trainer, which spreads the weights itself, is given a precision and no strategy."""
    made = [call for call in run.document.calls if call.name == "Trainer" and "precision" in call.arguments]
    return len(made) == 1 and not made[0].has_rest and "strategy" not in made[0].arguments


def unless_launched(run: Description) -> str:
    """The condition to add to a message about 16-bit weights; empty if the file settles it."""
    return ", unless a launcher brings DeepSpeed or FSDP with fp32 weights" if may_be_sharded(run) else ""


def trains_everything(run: Description) -> bool:
    """Whether it is known that the model itself is trained, not an adapter beside it."""
    if run.value("quantization_bits") is not None:
        return False
    adapter = run.value("adapter")
    return adapter == "none" or (adapter is None and run.tool in _WITHOUT_ADAPTERS)


def is_adam(run: Description) -> bool:
    """Whether Adam or AdamW steps; Hugging Face's Trainer takes AdamW where nothing is said, in every version."""
    if run.document.syntax == "python" and "optimizers=" in run.document.text:
        return False  # A Trainer that is given one does not make its own.
    if run.value("optimizer") is not None:
        return run.value("optimizer") in ("adam", "adamw")
    return run.tool in ("transformers", "trl", "llamafactory") and is_unset(run, "optim")


def lost_share(update: float, dtype: str) -> float:
    """Share of weights from N(0, 0.02) that an update of this size leaves unchanged when rounded to the nearest: all
    whose half rounding step is larger, that is, all weights from some power of two on."""
    half_steps = 2.0 ** (_MANTISSA[dtype] + 1)
    smallest_lost = 2.0 ** (floor(log2(update * half_steps)) + 1)
    return erfc(smallest_lost / (TYPICAL_SPREAD * sqrt(2)))
