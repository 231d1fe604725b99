"""M119 four-and-eight-bits"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M119",
    name="four-and-eight-bits",
    severity="error",
    message="the base model is to be loaded in 4 bits and in 8 bits: {tool} refuses that",
    why="A set of weights has a single bit width.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/utils/quantization_config.py",
            '"load_in_4bit and load_in_8bit are both True, but only one can be used at the same time".',
        ),
    ),
    fix=Fix("keep one of them: 4 bits (with `bnb_4bit_quant_type` nf4) for QLoRA"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\n"
        "bits = BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", quantization_config=bits)\n',
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n\n"
        "bits = BitsAndBytesConfig(load_in_4bit=True)\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", quantization_config=bits)\n',
    ),
    symptoms=("ValueError at start",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on the constructor in a script, and on both keys of a TRL file."""
    for call in calls_of(run, "BitsAndBytesConfig"):
        if literal(call, "load_in_4bit") is True and literal(call, "load_in_8bit") is True:
            yield RULE.at(call.arguments["load_in_8bit"].place, tool="transformers")
    four, eight = run.written("load_in_4bit"), run.written("load_in_8bit")
    if run.tool != "trl" or run.document.syntax not in ("yaml", "json") or four is None or eight is None:
        return
    if four.value is True and eight.value is True:
        yield RULE.at(eight, tool="TRL")
