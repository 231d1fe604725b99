"""S133 unknown-optimizer"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S133",
    name="unknown-optimizer",
    severity="error",
    message="`optimizer: {value}` is known neither to Axolotl nor to transformers{meant}",
    why="Axolotl takes any text here and looks it up only when the trainer is built, after the data are "
    "prepared.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/builders/base.py",
            "_configure_optimizer hands names that are not its own to transformers as `optim`; of its own, "
            "ao_adamw_4bit "
            "and ao_adamw_8bit have no branch any more and end in `Unhandled optimizer`.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "OptimizerNames is an enumeration: any other text raises.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: "
        "alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\noptimizer: "
        "adamw_trch_fused\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: "
        "alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\noptimizer: "
        "adamw_torch_fused\n",
    ),
    aliases=("TT802",),
    symptoms=("Unhandled optimizer", "is not a valid OptimizerNames"),
)

_KNOWN = """
    optimi_adamw ao_adamw_fp8 adopt_adamw came_pytorch muon dion sinkgd flash_adamw flash_adam flash_sgd flash_sgdw
    flash_lion q_galore_adamw8bit

    adamw_torch adamw_torch_fused adamw_torch_xla adamw_torch_npu_fused adafactor adamw_anyprecision adamw_torch_4bit
    adamw_torch_8bit ademamix sgd adagrad adamw_bnb_8bit adamw_8bit ademamix_8bit lion_8bit lion_32bit
    paged_adamw_32bit paged_adamw_8bit paged_ademamix_32bit paged_ademamix_8bit paged_lion_32bit paged_lion_8bit
    rmsprop rmsprop_bnb rmsprop_bnb_8bit rmsprop_bnb_32bit galore_adamw galore_adamw_8bit galore_adafactor
    galore_adamw_layerwise galore_adamw_8bit_layerwise galore_adafactor_layerwise lomo adalomo grokadamw
    schedule_free_radam schedule_free_adamw schedule_free_sgd apollo_adamw apollo_adamw_layerwise stable_adamw
"""
"""Axolotl's own, and OptimizerNames of transformers 5.24.0."""
_GONE = {"ao_adamw_4bit": "adamw_torch_4bit", "ao_adamw_8bit": "adamw_torch_8bit", "adamw_hf": "adamw_torch"}
"""Names that were known once."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where a plug-in may bring optimizers of its own."""
    setting = run.written("optimizer")
    if run.tool != "axolotl" or setting is None or not isinstance(setting.value, str) or not setting.value:
        return
    name = setting.value
    if name in _KNOWN.split() or run.written("plugins") is not None:
        return
    meant = _GONE.get(name) or _nearest(name)
    yield RULE.at(
        setting,
        edits=(SetValue(setting.key, meant),) if meant else (),
        value=name,
        meant=f": did you mean `{meant}`?" if meant else "",
        fix=f"write `{meant}`"
        if meant
        else "write `adamw_torch_fused`, or another of transformers' OptimizerNames",
    )


def _nearest(name: str) -> str:
    from trimtab.checks.nearest import nearest  # only where a name is unknown

    return nearest(name, _KNOWN.split())
