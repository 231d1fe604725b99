"""M110 fused-loss-skips-adapter"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import HEADS, is_low_rank, names_in
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M110",
    name="fused-loss-skips-adapter",
    severity="warning",
    message="the adapter is on {head}, and the {loss} loss reads that layer's weight directly, past the "
    "adapter",
    why="A fused loss multiplies by the output matrix itself, so that the logits are never made. The adapter "
    "on that layer is not part of the product: it gets no gradient and stays at zero.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/blob/36027d8/trl/trainer/sft_trainer.py",
            '"The chunked path reads the output projection weight directly, which would silently drop the '
            'adapter delta (and starve its parameters of gradients)"; chunked_nll is refused there.',
        ),
        Maintainer(
            "https://github.com/linkedin/Liger-Kernel/blob/0fa9798/src/liger_kernel/transformers/model/llama.py",
            "lce_forward passes self.lm_head.weight to the fused loss; PEFT's layer answers with the base "
            "layer's weight.",
        ),
    ),
    fix=Fix(
        "leave the output layer out of the adapter's targets, or train it whole (`modules_to_save`), or turn "
        "the fused loss off"
    ),
    bad=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 2\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nadapter: lora\nlora_r: "
        "16\nlora_alpha: 32\nlora_target_modules: [q_proj, up_proj, down_proj, lm_head]\nplugins:\n  - "
        "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n",
    ),
    good=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 2\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nadapter: lora\nlora_r: "
        "16\nlora_alpha: 32\nlora_target_modules: [q_proj, up_proj, down_proj]\nplugins:\n  - "
        "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n",
    ),
    symptoms=("adapter weights do not change", "no gradient on lm_head"),
)

_NAMES = {"liger": "Liger", "cut_cross_entropy": "cut cross entropy", "chunked": "chunked"}


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the head is named; `all-linear` leaves it out."""
    targets, loss = run.setting("lora_targets"), run.value("fused_loss")
    if targets is None or loss not in _NAMES or not is_low_rank(run):
        return
    heads = names_in(targets.value, HEADS)
    if heads:
        yield RULE.at(targets, head=heads[0], loss=_NAMES[loss])
