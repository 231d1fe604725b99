"""S127 loss-grows-with-accumulation"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.code_text import may_say
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer, Measured
from trimtab.checks.read.flow.losses import cross_entropies
from trimtab.checks.read.flow.modules import is_module_class
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.trainers import configuration, trainers
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="S127",
    name="loss-grows-with-accumulation",
    severity="error",
    message="transformers {version} makes loss and gradients of {family} about {times} times too large here",
    why="From the signature of the model the Trainer concludes that it divides the loss by the tokens of the "
    "whole step, so it does not divide by the accumulation, and on several devices multiplies by their "
    "number. This head takes the number and ignores it: each micro-batch counts as a step. Clipping then "
    "cuts nearly every step, and short batches weigh too much.",
    evidence=(
        Measured(
            "label_smoothing_explodes",
            "Without smoothing, 8 micro-batches multiply the gradient of Marian and of ViT+TrOCR by 8.00 "
            "in transformers 5.24.0; that of Llama by 1.00.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/47688",
            "Heads that declare **kwargs but drop num_items_in_batch train with an inflated loss under "
            "accumulation; open.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "model_accepts_loss_kwargs is whether forward has **kwargs; where it is, training_step does not "
            "divide by the accumulation. MarianMTModel, T5, BART, M2M100, Pegasus, Whisper and "
            "VisionEncoderDecoder have **kwargs from 5.0.0 on and compute CrossEntropyLoss() over the "
            "micro-batch.",
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments\n\n"
        "model = AutoModelForSeq2SeqLM.from_pretrained('Helsinki-NLP/opus-mt-en-de')\n"
        "args = Seq2SeqTrainingArguments(output_dir='out', per_device_train_batch_size=8, "
        "gradient_accumulation_steps=8, predict_with_generate=True)\n"
        "Seq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n",
        versions="transformers=5.24.0",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments\n\n"
        "model = AutoModelForSeq2SeqLM.from_pretrained('Helsinki-NLP/opus-mt-en-de')\n"
        "args = Seq2SeqTrainingArguments(output_dir='out', per_device_train_batch_size=8, "
        "gradient_accumulation_steps=8, label_smoothing_factor=0.1, predict_with_generate=True)\n"
        "Seq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n",
        versions="transformers=5.24.0",
    ),
    aliases=("TT101",),
    tips=("S0-96", "S0-97"),
    symptoms=(
        "loss is too high",
        "loss grows with gradient accumulation",
        "gradient norm is large",
        "every step is clipped",
        "switching label smoothing off makes training unstable",
        "loss is as many times too large as there are accumulation steps",
    ),
)

FAMILIES = frozenset(
    {
        "bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "encoder-decoder", "fsmt", "led", "longt5",
        "m2m_100", "marian", "mbart", "mt5", "mvp", "nllb-moe", "pegasus", "pegasus_x", "plbart", "speech_to_text",
        "switch_transformers", "t5", "trocr", "udop", "umt5", "vision-encoder-decoder", "whisper",
    }
)  # fmt: skip
"""Families whose sequence-to-sequence head does so in 5.24.0, by a reading of its source."""
SMOOTHED = frozenset(
    {
        "bart", "bigbird_pegasus", "fsmt", "led", "longt5", "marian", "mbart", "mt5", "mvp", "pegasus", "pegasus_x",
        "plbart", "switch_transformers", "t5", "umt5",
    }
)  # fmt: skip
"""Families of text whose model has `prepare_decoder_input_ids_from_labels`: of the others the smoother, which takes the
labels away, leaves the decoder without inputs."""
_OTHER_WAYS = "pass compute_loss_func to the Trainer, or take an accumulation of 1 on one device"
FIRST, LAST_READ = (5,), (5, 25)
"""Versions from which it is so, and from which nobody has looked."""


def check(run: Description) -> Iterator[Diagnosis]:
    """With the Trainer of a version that was read, no smoothing, and no loss function of the user's own."""
    yield from _own_modules(run)
    version, family = run.version("transformers"), run.value("model_family")
    if (
        run.tool != "transformers"
        or version is None
        or not FIRST <= version < LAST_READ
        or family not in FAMILIES
    ):
        return
    if run.value("label_smoothing") or run.value("fused_loss") or _has_own_loss(run):
        return
    accumulation, devices = run.setting("accumulation"), run.setting("devices")
    times = _number(accumulation) * _number(devices)
    where = accumulation if accumulation is not None and accumulation.value > 1 else devices
    if times > 1 and where is not None and where.is_written:
        way = _OTHER_WAYS
        if family in SMOOTHED and run.value("task") != "vision_text":
            way = f"set label_smoothing_factor to 0.1 (the smoother divides rightly), {way}"
        yield RULE.at(where, version=".".join(map(str, version)), family=family, times=times, way=way)


def _number(setting: Setting | None) -> int:
    return max(1, setting.value) if setting is not None else 1


def _has_own_loss(run: Description) -> bool:
    if "def compute_loss" in run.document.text:
        return True
    return may_say(run.document, "compute_loss_func") and any(
        "compute_loss_func" in call.arguments for call in run.document.calls
    )


OWN_SINCE = (4, 46)
"""From here on the Trainer reads the signature of `forward`."""


def _own_modules(run: Description) -> Iterator[Diagnosis]:
    """A module of the script that takes `**kwargs` and returns a mean loss: the Trainer believes that it has
    divided."""
    version = run.version("transformers")
    if (
        version is None
        or version < OWN_SINCE
        or _has_own_loss(run)
        or "num_items_in_batch" in run.document.text
    ):
        return
    for trainer in trainers(run):
        made, model = configuration(trainer.value), root(trainer.value.argument(0, "model"))
        if made is None or model is None or model.made != "object" or trainer.name != "Trainer":
            continue
        forward = _forward(model)
        accumulation = run.setting("accumulation")
        if forward is None or forward.args.kwarg is None or accumulation is None or accumulation.value <= 1:
            continue
        if model.of is not None and is_module_class(model.of) and _is_mean(run, forward):
            text = ".".join(map(str, version))
            way = f"take `**{forward.args.kwarg.arg}` out of `forward`, or divide by its `num_items_in_batch`"
            yield RULE.at(accumulation, version=text, family=model.name, times=accumulation.value, way=way)


def _forward(model: Value) -> Any:
    owner = model.of
    body: list[Any] = owner.node.body if owner is not None and owner.node is not None else []
    return next((part for part in body if getattr(part, "name", "") == "forward"), None)


def _is_mean(run: Description, forward: Any) -> bool:
    """Whether the loss of `forward` is one of torch's with its default, the mean."""
    losses = [
        loss
        for loss in cross_entropies(flow_of(run.document))
        if any(
            block.kind == "function" and block.value is not None and block.value.node is forward
            for block in loss.event.path
        )
    ]
    return bool(losses) and all(loss.is_mean for loss in losses)
