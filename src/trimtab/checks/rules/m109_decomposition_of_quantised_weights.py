"""M109 decomposition-of-quantised-weights"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M109",
    name="decomposition-of-quantised-weights",
    severity="error",
    message="`{key}` asks for a start of the adapter from the singular values of the weights, which are "
    "quantised to {bits} bits: PEFT refuses that",
    why="PiSSA and CorDA take the weights apart and write what is left back. Quantised weights are codes, "
    "not numbers, and have to be taken apart before they are quantised.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/blob/5d602fd/src/peft/tuners/lora/layer.py",
            '"Please initialize PiSSA under float32, float16, or bfloat16. Subsequently, re-quantize the '
            'residual model", '
            "and the same for CorDA.",
        ),
    ),
    fix=Fix(
        "initialise on the unquantised model, save base and adapter, and quantise then; or leave the start "
        "at its default"
    ),
    bad=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", '
        "quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n"
        'model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules="all-linear", '
        'init_lora_weights="pissa"))\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", '
        "quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n"
        'model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules="all-linear"))\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True)\n'
        "Trainer(model=model, args=args).train()\n",
    ),
    symptoms=("TypeError at start", "Please initialize PiSSA under float32"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a run both quantises and starts so; LLaMA-Factory's refusal is C118's."""
    initial, bits = run.setting("lora_init"), run.value("quantization_bits")
    if initial is None or bits is None or run.tool in ("llamafactory", "peft") or not is_low_rank(run):
        return
    if initial.value in ("pissa", "corda"):
        yield RULE.at(initial, bits=bits)
