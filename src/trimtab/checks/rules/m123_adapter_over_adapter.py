"""M123 adapter-over-adapter"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from peft import LoraConfig, PeftModel, get_peft_model\nfrom transformers import AutoModelForCausalLM\n"
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n{first}model = PeftModel.from_pretrained(model, "saved")\n'
)

RULE = Rule(
    code="M123",
    name="adapter-over-adapter",
    severity="warning",
    message="a saved adapter is loaded over a model that `get_peft_model` has already given one",
    why="The names of the wrapped layers differ then from those in the file: the saved weights find no place, or "
    "lie beside "
    "an untrained adapter that is active. Only a warning about missing keys says so.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/issues/2115",
            "'one should not use `get_peft_model` and `PeftModel.from_pretrained` together'; outputs are those "
            "of the base model.",
        ),
        Maintainer(
            "https://huggingface.co/docs/peft/developer_guides/troubleshooting",
            "'A common error is trying to load a trained model with get_peft_model which is incorrect.'",
        ),
        Arithmetic(
            "get_peft_model wraps each layer once, from_pretrained on the result once more: two pairs of factors, of "
            "which the outer ones alone are loaded, so the names of the saved weights have one prefix too few."
        ),
    ),
    fix=Fix("load the adapter onto the base model, without `get_peft_model`"),
    bad=Example(
        "load.py",
        _SCRIPT.format(first='model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn"]))\n'),
    ),
    good=Example("load.py", _SCRIPT.format(first="")),
    symptoms=("fine-tuning has no effect", "adapter has no effect", "nonsense after reload"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Follows what `PeftModel.from_pretrained` is given back to a `get_peft_model`, unmerged."""
    for event in flow_of(run.document).named("from_pretrained"):
        name = event.value.name
        if "PeftModel" not in name or "Auto" in name:
            continue
        given = event.value.argument(0, "model")
        if given is not None and _is_wrapped(given):
            yield RULE.at(event.place)


def _is_wrapped(value: Value) -> bool:
    found = value
    for _ in range(5):
        if found.made != "call":
            return False
        if found.last == "get_peft_model" and found.of is None:
            return True
        if found.name not in ("to", "cuda", "eval", "train", "half", "bfloat16") or found.of is None:
            return False
        found = found.of
    return False
