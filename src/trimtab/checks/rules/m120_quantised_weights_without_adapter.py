"""M120 quantised-weights-without-adapter"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M120",
    name="quantised-weights-without-adapter",
    severity="error",
    message="the model is loaded in {bits} bits and no adapter is trained: the Trainer refuses that",
    why="Quantised weights are codes that no gradient reaches. What is trained is an adapter beside them.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_utils.py",
            '"You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on '
            'top of it".',
        ),
    ),
    fix=Fix("add a LoRA adapter, or load the model unquantised"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", '
        "quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n"
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
    symptoms=(
        "ValueError at start",
        "You cannot perform fine-tuning on purely quantized models",
        "attach trainable adapters",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where it is known that there is no adapter; Axolotl's and LLaMA-Factory's refusals are C118's."""
    bits = run.setting("quantization_bits")
    is_script = run.document.syntax == "python"
    if is_script and not any(call.name.endswith("Trainer") for call in run.document.calls):
        return  # the Trainer refuses, and nothing else
    if bits is not None and run.value("adapter") == "none" and run.tool in ("transformers", "trl"):
        yield RULE.at(bits, bits=bits.value)
