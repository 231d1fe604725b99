"""P109 fsdp-offload-with-8bit-state"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P109",
    name="fsdp-offload-with-8bit-state",
    severity="error",
    message="`{optimizer}` with FSDP's parameters on the host: Axolotl refuses to start",
    why="Offloaded parameters are updated on the CPU, and the 8-bit optimizers update on the GPU only.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            'check_fsdp_offload_w_8bit_optimizer: "FSDP Offload not compatible with ..." unless fsdp_version '
            "is 2.",
        ),
    ),
    fix=Fix("take `optimizer: adamw_torch`, or leave the parameters on the GPU"),
    bad=Example(
        "fsdp.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_bnb_8bit\nlearning_rate: 2e-4\nbf16: true\nfsdp:\n  - "
        "full_shard\nfsdp_config:\n  offload_params: true\n",
    ),
    good=Example(
        "fsdp.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nfsdp:\n  - "
        "full_shard\nfsdp_config:\n  offload_params: true\n",
    ),
    symptoms=("ValueError at start", "FSDP Offload not compatible"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires under FSDP 1; what FSDP 2 refuses is C119's."""
    optimizer = run.written("optimizer")
    moved = run.written("fsdp_config.offload_params") or run.written("fsdp_config.fsdp_offload_params")
    if run.tool != "axolotl" or optimizer is None or moved is None or moved.value is not True:
        return
    if "8bit" in str(optimizer.value) and run.value("fsdp") == 1:
        yield RULE.at(optimizer, optimizer=optimizer.value)
