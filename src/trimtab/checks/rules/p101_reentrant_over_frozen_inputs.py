"""P101 reentrant-over-frozen-inputs"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Measured
from trimtab.checks.own_key import calls_of
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

RULE = Rule(
    code="P101",
    name="reentrant-over-frozen-inputs",
    severity="error",
    message="reentrant checkpointing{default} over frozen embeddings: no gradient reaches the adapter",
    why="Reentrant checkpointing only tracks gradients where an input of the block asks for them. With "
    "frozen embeddings none does, so that backward fails or, where some other part is trained, the adapter "
    "silently stays as it is. The non-reentrant kind does not need it.",
    evidence=(
        Measured(
            "reentrant_gradients",
            "Frozen embedding, use_reentrant=True or not written, transformers 4.57.6: 18 of 20 trainable"
            " parameters get no gradient and nothing is said. 5.24.0 loses none for text, 32 of 36 for a "
            "ViT with True. use_reentrant=False never loses one.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/21381",
            '"When freezing the first layers of a model and using gradient-checkpointing, all gradient '
            'calculation will be disabled".',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/26221",
            "LoRA and TrainingArguments(gradient_checkpointing=True): the Trainer's default was "
            "use_reentrant=True.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/modeling_utils.py",
            "Version 5 defaults to use_reentrant=False and makes the embeddings' output ask for gradients; "
            "Axolotl, LLaMA-Factory and TRL do the latter themselves.",
        ),
    ),
    fix=Fix(
        'set `gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or call '
        "`model.enable_input_require_grads()`"
    ),
    bad=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        'model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules=["c_attn", "c_fc"]))\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, '
        "gradient_checkpointing=True)\n"
        "Trainer(model=model, args=args).train()\n",
        versions="transformers=4.46.0 peft=0.13.0",
    ),
    good=Example(
        "train.py",
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        'model = get_peft_model(model, LoraConfig(r=16, lora_alpha=16, target_modules=["c_attn", "c_fc"]))\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, '
        'gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False})\n'
        "Trainer(model=model, args=args).train()\n",
        versions="transformers=4.46.0 peft=0.13.0",
    ),
    aliases=("CKPT001", "TT501"),
    tips=("S0-108",),
    symptoms=(
        "element 0 of tensors does not require grad",
        "None of the inputs have requires_grad=True",
        "loss flat",
        "grad norm is 0",
        "gradients of the adapter are None with gradient checkpointing",
        "None of the inputs have requires_grad=True. Gradients will be None",
        "LoRA does not train with gradient checkpointing",
    ),
)

_HELPS = (
    "enable_input_require_grads",
    "prepare_model_for_kbit_training",
    "prepare_model_for_int8_training",
    "gradient_checkpointing_enable",
    "make_inputs_require_grad",
    "register_forward_hook",
)
"""Calls that make the embeddings' output ask for gradients; PEFT does where checkpointing is on already."""
_TRAINERS = ("Trainer", "Seq2SeqTrainer")
"""Trainers that do nothing about it themselves."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for scripts with transformers 4; where the version is unknown, only on a written `use_reentrant=True`."""
    yield from _in_loops(run)
    kind, is_five = run.setting("use_reentrant"), run.at_least("transformers", 5)
    if kind is None or kind.value is not True or is_five is True or run.document.syntax != "python":
        return
    frozen = (is_low_rank(run) and run.value("frozen_embeddings") is True) or frozen_embeddings(run)
    if not frozen or not _has_plain_trainer(run):
        return
    if not any(helper in run.document.text for helper in _HELPS):
        default = "" if kind.is_written else ", which is the default of this version,"
        where = kind if kind.is_written else run.setting("gradient_checkpointing") or kind
        yield RULE.at(where, severity="warning" if is_five is None else None, default=default)


def _has_plain_trainer(run: Description) -> bool:
    # GRPOTrainer of TRL before 0.16 switched checkpointing on behind the adapter.
    is_old_grpo = run.at_least("trl", 0, 16) is False and any(calls_of(run, "GRPOTrainer"))
    return is_old_grpo or any(calls_of(run, *_TRAINERS))


def frozen_embeddings(run: Description) -> bool:
    """Whether a script switches the gradients of the input embeddings off by hand."""
    return any(is_embedding(value) for value in _frozen(run))


def _frozen(run: Description) -> Iterator[Value]:
    """Parameters that the script freezes: `requires_grad = False`, `requires_grad_(False)`."""
    flow = flow_of(run.document)
    for event in flow.sets("requires_grad"):
        if event.value.constant is False and event.subject is not None:
            yield event.subject
    for event in flow.named("requires_grad_"):
        if event.value.args and event.value.args[0].constant is False and event.subject is not None:
            yield event.subject


def is_embedding(value: Value) -> bool:
    """Whether a parameter is that of an embedding, and of nothing else beside it."""
    return any(
        each.last == "get_input_embeddings"
        or (each.last == "Embedding" and each.name.startswith("torch.nn."))
        for each in walk(value, most=6)
    )


def _in_loops(run: Description) -> Iterator[Diagnosis]:
    """A loop of the script's own: reentrant checkpointing is switched on behind the adapter, which PEFT then
    cannot see,
    or a block is checkpointed whose input comes from a frozen embedding."""
    flow = flow_of(run.document)
    if any(True for _ in flow.named(*_ASKING)):
        return
    for event in flow.named("checkpoint"):
        reentrant = event.value.keywords.get("use_reentrant")
        if reentrant is None or reentrant.constant is not True or "checkpoint" not in event.value.name:
            continue
        frozen = [value for value in _frozen(run) if is_embedding(value)]
        owners = {id(each) for value in frozen for each in walk(value, most=6) if each.last == "Embedding"}
        inputs = [each for value in event.value.args[1:] for each in walk(value, most=60)]
        if any(each.made == "call" and each.of is not None and id(each.of) in owners for each in inputs):
            yield RULE.at(event.place, default="")
            return
    if not any(True for _ in flow.named("backward")):
        return
    adapters = [event.index for event in flow.named("get_peft_model") if event.value.of is None]
    if not adapters or not is_low_rank(run) or run.value("frozen_embeddings") is not True:
        return
    is_five = run.at_least("transformers", 5)
    for event in flow.named("gradient_checkpointing_enable"):
        given = event.value.argument(0, "gradient_checkpointing_kwargs")
        reentrant = given.keywords.get("use_reentrant") if given is not None else None
        if reentrant is not None and reentrant.constant is True and event.index > adapters[0]:
            severity: Severity | None = None if is_five is False else "note" if is_five else "warning"
            default = " (with transformers before 5)" if is_five else ""
            yield RULE.at(event.place, severity=severity, default=default)
            return


_ASKING = (
    "enable_input_require_grads", "prepare_model_for_kbit_training", "make_inputs_require_grad",
    "register_forward_hook",
)  # fmt: skip
