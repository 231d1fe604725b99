"""X104 merged-into-quantised-weights"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n"
    'base = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B"{quantised})\n'
    'model = PeftModel.from_pretrained(base, "adapter")\nmodel = model.merge_and_unload()\n'
)

RULE = Rule(
    code="X104",
    name="merged-into-quantised-weights",
    severity="warning",
    message="an adapter is merged into a base model that is loaded in {bits} bits",
    why="The small change of an adapter is rounded away with the grid of the quantised weights: the merged "
    "model is not the one that was trained. Merged into the 16-bit weights, nothing is lost, and the result "
    "can be quantised after.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/issues/2321",
            "PEFT warns 'Merge lora module to 4-bit linear may get different generations due to rounding "
            "errors'; the maintainer: 'There is no way to avoid this'.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/train/tuner.py",
            "'Cannot merge adapters to a quantized model.' and 'Please merge adapters before quantizing the "
            "model.'",
        ),
    ),
    fix=Fix("load the base model in bf16 without quantisation for the merge; quantise the result"),
    bad=Example("merge.py", _SCRIPT.format(quantised=", load_in_4bit=True")),
    good=Example("merge.py", _SCRIPT.format(quantised=", dtype=torch.bfloat16")),
    aliases=("LORA008",),
    tips=("S2-08",),
    symptoms=(
        "worse after merge",
        "merged model is worse than base model with adapter",
        "merge_and_unload on a 4-bit model",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a script that shows both, and nowhere turns the weights back into floats."""
    if says(run.document, "dequantize"):
        return
    merges = [
        call for call in calls_of(run, "merge_and_unload") if not call.arguments and not call.positional
    ]
    loads = [
        call.arguments.get(name)
        for call in calls_of(run, "from_pretrained")
        for name in ("load_in_4bit", "load_in_8bit")
    ]
    switched = [entry for entry in loads if entry is not None and entry.value is True]
    if not switched:
        yield from _through_configuration(run)
        return
    if merges and switched and len(list(calls_of(run, "from_pretrained"))) <= 3:
        yield RULE.at(merges[0].place, bits=4 if "4" in switched[0].key else 8)


def _through_configuration(run: Description) -> Iterator[Diagnosis]:
    """A model that is followed from a `quantization_config` to its merge."""
    for event in flow_of(run.document).named("merge_and_unload"):
        if event.value.args or event.value.keywords:
            continue
        parts = list(walk(event.subject))
        for key, bits in (("load_in_4bit", 4), ("load_in_8bit", 8)):
            if any(key in part.keywords and part.keywords[key].constant is True for part in parts):
                yield RULE.at(event.place, bits=bits)
                return
