"""P116 cuda-graphs-with-packing"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P116",
    name="cuda-graphs-with-packing",
    severity="warning",
    message="`triton.cudagraphs` needs one shape, and packed samples have another number of pieces in every "
    "batch",
    why="A CUDA graph replays what was recorded. Each new shape is recorded again or runs without the graph, "
    "so that the option costs time and memory in place of saving it.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            'check_cudagraphs_wo_static_shapes: "CUDA graphs require static shapes, but packed '
            'variable-length sequences are dynamic and will trigger graph re-capture or fallback."',
        ),
    ),
    fix=Fix("remove `triton.cudagraphs`, or pack nothing and pad to one length", safety="changes training"),
    bad=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nsample_packing: true\nattn_implementation: "
        "flash_attention_2\ntorch_compile: true\ntorch_compile_options:\n  triton.cudagraphs: true\n",
    ),
    good=Example(
        "sft.yaml",
        "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noutput_dir: "
        "out\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: "
        "1\noptimizer: adamw_torch\nlearning_rate: 2e-4\nbf16: true\nadapter: lora\nlora_r: 16\nlora_alpha: "
        "16\nlora_target_linear: true\nsample_packing: true\nattn_implementation: "
        "flash_attention_2\ntorch_compile: true\n",
    ),
    symptoms=("slow", "recompiles in every step", "out of memory"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for Axolotl's option."""
    graphs = run.written("torch_compile_options.triton.cudagraphs")
    if run.tool == "axolotl" and graphs is not None and graphs.value is True and run.value("packing") is True:
        yield RULE.at(graphs)
