"""P102 packed-documents-see-each-other"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P102",
    name="packed-documents-see-each-other",
    severity="warning",
    message="several examples share a sequence, and each attends to those before it",
    why="An answer is then learned with an unrelated question in sight, at positions that never occur in "
    "use. In pre-training on long documents this is common practice; for short instructions it is not what "
    "is meant.",
    evidence=(
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/pull/4224",
            "`packing` has no isolation; `neat_packing` adds it, and gave better results in the pull "
            "request's comparison.",
        ),
        Maintainer(
            "https://github.com/MeetKai/functionary/issues/265",
            "Two examples: loss 44.14 apart, 37.55 packed naively, 44.17 packed with isolation.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/pull/3796",
            "From 0.18.0 on `sdpa` and `eager` isolate packed documents by a block-diagonal mask; before, "
            "check_sample_packing_without_attention warned of both.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/36027d8/trl/trainer/sft_config.py",
            'packing_strategy "wrapped": aggressive, cuts mid-sequence; "bfd", the default, isolates.',
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "sft.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: "
        "lora\nlora_target: all\ntemplate: qwen\ndataset: alpaca_en_demo\noutput_dir: out\npacking: true\n",
    ),
    good=Example(
        "sft.yaml",
        "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: "
        "lora\nlora_target: all\ntemplate: qwen\ndataset: alpaca_en_demo\noutput_dir: out\nneat_packing: "
        "true\n",
    ),
    aliases=("TT601",),
    symptoms=(
        "answers another question",
        "worse with packing",
        "eval loss differs between packed and unpacked",
    ),
)

_WAYS = {
    "llamafactory": "set `neat_packing: true`",
    "axolotl": "set `attn_implementation: flash_attention_2` or `flex_attention`, or take Axolotl 0.18 or newer",
    "trl": "set `packing_strategy: bfd` with `attn_implementation: flash_attention_2`",
}


NEAT_SINCE = (0, 9, 3)
"""The release with LLaMA-Factory's pull request 7318, which made `neat_packing` isolate."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires outside pre-training, of Axolotl only where its version is known: newer ones isolate under sdpa as well."""
    neat = run.written("neat_packing") if run.tool == "llamafactory" else None
    if neat is not None and neat.value is True and run.at_least("llamafactory", *NEAT_SINCE) is False:
        yield RULE.at(neat, way="use LLaMA-Factory 0.9.3 or newer: before, `neat_packing` did not isolate")
        return
    packing, isolated = run.setting("packing"), run.setting("packing_isolated")
    if packing is None or packing.value is not True or not packing.is_written:
        return
    if isolated is not None and isolated.value is False and run.value("task") != "pretrain":
        yield RULE.at(packing, way=_WAYS.get(run.tool, "isolate the documents, or pad"))
