"""M111 adapter-merged-into-quantised-base"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M111",
    name="adapter-merged-into-quantised-base",
    severity="error",
    message="`{key}` and `adapter_name_or_path` are both set in an export: LLaMA-Factory refuses to merge "
    "into quantised weights",
    why="A merged weight is base plus adapter in full precision. Rounding the sum to 4 bits would lose most "
    "of what the adapter learned, so merge into the unquantised base first and quantise the result in a "
    "second run.",
    evidence=(
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/train/tuner.py",
            'export_model: "Please merge adapters before quantizing the model." and "Cannot merge adapters '
            'to a quantized model."',
        ),
    ),
    fix=Fix("remove `{key}` here, and quantise the merged model in a second export without an adapter"),
    bad=Example(
        "merge.yaml",
        "model_name_or_path: meta-llama/Llama-3.1-8B\nadapter_name_or_path: out/lora\ntemplate: llama3\n"
        "finetuning_type: lora\nexport_dir: out/merged\nexport_size: 5\nquantization_bit: 4\n",
    ),
    good=Example(
        "merge.yaml",
        "model_name_or_path: meta-llama/Llama-3.1-8B\nadapter_name_or_path: out/lora\ntemplate: llama3\n"
        "finetuning_type: lora\nexport_dir: out/merged\nexport_size: 5\n",
    ),
    tips=("S2-08",),
    symptoms=(
        "worse after merge",
        "ValueError at export",
        "merged model is worse than base model with adapter",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on LLaMA-Factory's export files."""
    if run.tool != "llamafactory" or run.written("export_dir") is None:
        return
    adapter = run.written("adapter_name_or_path")
    if adapter is None or not adapter.value:
        return
    for key in ("export_quantization_bit", "quantization_bit"):
        bits = run.written(key)
        if bits is not None and bits.value:
            yield RULE.at(bits)
