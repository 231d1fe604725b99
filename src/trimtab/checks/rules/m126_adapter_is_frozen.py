"""M126 adapter-is-frozen"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import options, root
from trimtab.checks.read.flow.values import Flow, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    "base = AutoModelForCausalLM.from_pretrained('HuggingFaceTB/SmolLM2-135M')\n"
    "model = PeftModel.from_pretrained(base, 'out/checkpoint-100'{how})\n"
    "arguments = TrainingArguments('out', learning_rate=2e-4)\n"
    "Trainer(model=model, args=arguments, train_dataset=dataset).train()\n"
)

RULE = Rule(
    code="M126",
    name="adapter-is-frozen",
    severity="error",
    message="{fault}: no weight of the adapter is trained",
    why="PEFT loads an adapter for inference unless `is_trainable=True` is given, and "
    "`prepare_model_for_kbit_training` freezes "
    "every parameter that the model has at that moment. A model without a trainable weight stops with 'element 0 of "
    "tensors does not require grad', or trains nothing where another part of it still can.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/issues/6700",
            "'`PeftModel.from_pretrained` defaults to `is_trainable=False`, which loads the adapter in inference mode "
            "with every LoRA parameter frozen.'",
        ),
        Maintainer(
            "https://github.com/huggingface/peft/issues/282",
            "'trainable params: 0': 'This is controlled via `is_trainable`'.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.replace("{how}", "")),
    good=Example("train.py", _SCRIPT.replace("{how}", ", is_trainable=True")),
    symptoms=(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "trainable params: 0",
        "continuing to train an adapter changes nothing",
        "optimizer got an empty parameter list",
    ),
)
_LOADERS: Final = ("peft.PeftModel.from_pretrained", "peft.PeftModelForCausalLM.from_pretrained")
_TRAINERS: Final = (
    "Trainer",
    "Seq2SeqTrainer",
    "SFTTrainer",
    "DPOTrainer",
    "KTOTrainer",
    "RewardTrainer",
    "GRPOTrainer",
)
_OTHER_WAYS: Final = (
    "requires_grad",
    "set_adapter",
    "add_adapter",
    "load_adapter",
    "peft_config=",
    "train_adapter",
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A model whose adapter is loaded for inference, or frozen behind its making, and that a Trainer or an optimizer of
    the script is given."""
    if "peft" not in run.document.imports or says(run.document, *_OTHER_WAYS):
        return
    flow = flow_of(run.document)
    trained = _trained(flow)
    for event in flow.named("from_pretrained", "prepare_model_for_kbit_training"):
        call = event.value
        if call.name in _LOADERS and not call.has_rest and _is_trained(call, trained):
            given = call.keywords.get("is_trainable")
            if given is None or given.constant is False:
                yield RULE.at(
                    event.place,
                    fault="the adapter is loaded with `is_trainable=False`, the default",
                    fix="pass `is_trainable=True`",
                )
                return
        elif (
            call.last == "prepare_model_for_kbit_training"
            and _has_adapter(call)
            and _is_trained(call, trained)
        ):
            fault = "`prepare_model_for_kbit_training` is called after `get_peft_model` and freezes the adapter too"
            yield RULE.at(event.place, fault=fault, fix="prepare the model first, then give it the adapter")
            return


def _trained(flow: Flow) -> list[Value]:
    found: list[Value] = []
    for event in flow.named(*_TRAINERS):
        given = event.value.argument(0, "model")
        found += [given] if given is not None else []
    for loop in training_loops(flow):
        for step in loop.steps():
            for optimizer in options(step.subject):
                for each in walk(optimizer.argument(0, "params"), most=40):
                    if each.name in ("parameters", "named_parameters") and each.of is not None:
                        found.append(each.of)
    return found


def _is_trained(made: Value, trained: list[Value]) -> bool:
    """Whether the very object is handed over, wrapped or not; merged into its base it is another one."""
    return any(
        each is made or root(each) is made or _behind(each) is made
        for value in trained
        for each in options(value)
    )


def _behind(value: Value) -> Value:
    """The object behind moves and preparations that are no adapters."""
    while value.made == "call" and value.last in ("to", "cuda", "prepare") and value.of is not None:
        value = value.of
    return value


def _has_adapter(call: Value) -> bool:
    given = call.args[0] if call.args else call.keywords.get("model")
    return (
        given is not None
        and any(each.made == "call" and each.last == "get_peft_model" for each in options(given))
        and len(options(given)) == 1
    )
