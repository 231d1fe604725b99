"""P108 fsdp1"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P108",
    name="fsdp1",
    severity="note",
    message="this is FSDP's first version, which Axolotl plans to remove",
    why="Version 2 shards each parameter by itself: memory is steadier, dtypes may be mixed, and checkpoints "
    "need no gathering. Without `fsdp_version: 2` Axolotl takes version 1.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            'check_fsdp_version: "FSDP1 is deprecated and will be removed in an upcoming release of Axolotl '
            '(transformers plans to in v5.20)."',
        ),
    ),
    fix=Fix("set `fsdp_version: 2` and name the options of `fsdp_config` as version 2 has them"),
    bad=Example(
        "fsdp.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nfsdp:\n  - "
        "full_shard\nfsdp_config:\n  fsdp_state_dict_type: FULL_STATE_DICT\n",
    ),
    good=Example(
        "fsdp.yaml",
        "base_model: mistralai/Mistral-7B-v0.1\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nfsdp_version: "
        "2\nfsdp_config:\n  state_dict_type: FULL_STATE_DICT\n",
    ),
    symptoms=("FSDP1 is deprecated",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for Axolotl, which says when it goes."""
    version = run.setting("fsdp")
    if run.tool == "axolotl" and version is not None and version.value == 1:
        yield RULE.at(version)
