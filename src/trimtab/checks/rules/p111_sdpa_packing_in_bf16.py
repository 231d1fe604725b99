"""P111 sdpa-packing-in-bf16"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P111",
    name="sdpa-packing-in-bf16",
    severity="note",
    message="packed samples with SDPA in bf16: Axolotl warns of a loss of 0.0 on other GPUs than an H100",
    why="With a mask SDPA falls back to kernels that were not tested in bf16 before Hopper. Flash Attention "
    "needs no mask for packed samples and is faster as well.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            'check_sample_packing_w_sdpa_bf16: "sample_packing & torch sdpa with bf16 is unsupported may '
            'results in 0.0 loss. This may work on H100s."',
        ),
    ),
    fix=Fix("set `attn_implementation: flash_attention_2`, or `sdpa_varlen: true` with torch 2.10 or later"),
    bad=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nsample_packing: true\nattn_implementation: sdpa\n",
    ),
    good=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nsample_packing: true\nattn_implementation: flash_attention_2\n",
    ),
    symptoms=("loss zero", "loss is 0.0"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for Axolotl; what other tools do with packing and SDPA is not known."""
    kernel, varlen = run.setting("attention_kernel"), run.written("sdpa_varlen")
    if run.tool != "axolotl" or kernel is None or kernel.value != "sdpa" or run.value("packing") is not True:
        return
    if run.value("autocast") == "bf16" and not (varlen is not None and varlen.value is True):
        yield RULE.at(kernel)
