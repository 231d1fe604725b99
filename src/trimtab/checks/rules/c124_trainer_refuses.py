"""C124 trainer-refuses"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow import lightning
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.trainers import configuration, is_set, trainers
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from datasets import load_dataset\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    'data = load_dataset("allenai/c4", "en", split="train", streaming=True).map(tokenise, batched=True)\n'
    'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
    'args = TrainingArguments(output_dir="out", {length}, learning_rate=5e-5, warmup_steps=100)\n'
    "Trainer(model=model, args=args, train_dataset=data).train()\n"
)

RULE = Rule(
    code="C124",
    name="trainer-refuses",
    severity="error",
    message="{says}: {trainer} raises {raises}",
    why="The trainer compares its arguments only after the model and the data are loaded. The script stops there, "
    "minutes "
    "after it was started, on every process.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "'The train_dataset does not implement __len__, so the number of training steps cannot be inferred.'",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_callback.py",
            "EarlyStoppingCallback asserts `metric_for_best_model` and an evaluation strategy other than no.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py",
            "'A formatting function was provided while `completion_only_loss=True`, which is incompatible.'",
        ),
        Maintainer(
            "https://github.com/Lightning-AI/pytorch-lightning/blob/2.6.0/src/lightning/pytorch/trainer/"
            "configuration_validator.py",
            "'Automatic gradient clipping is not supported for manual optimization', nor is accumulation.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("train.py", _SCRIPT.format(length="num_train_epochs=1")),
    good=Example("train.py", _SCRIPT.format(length="max_steps=10_000")),
    symptoms=(
        "ValueError at start",
        "AssertionError at start",
        "max_steps has to be specified",
        "EarlyStoppingCallback requires metric_for_best_model is defined",
        "EarlyStoppingCallback assertion error",
        "Automatic gradient clipping is not supported for manual optimization",
        "Automatic gradient accumulation is not supported for manual optimization",
        "train_dataset does not implement __len__, max_steps has to be specified",
        "You have set eval_strategy but you didn't pass an eval_dataset",
    ),
)
_OF_AUTOMATIC = (
    ("gradient_clip_val", "call `self.clip_gradients`", 0),
    ("accumulate_grad_batches", "step every so many batches", 1),
)
_STREAMED = frozenset(
    {
        "map",
        "filter",
        "shuffle",
        "take",
        "skip",
        "remove_columns",
        "rename_column",
        "with_format",
        "select_columns",
    }
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Refusals that the script shows whole: the trainer, its configuration, and what contradicts it."""
    for trainer in trainers(run):
        made = configuration(trainer.value)
        if made is None:
            continue
        for says, raises, fix in (
            *_stream(trainer, made),
            *_stopping(trainer, made),
            *_evaluation(run, trainer, made),
            *_sft(run, trainer, made),
        ):
            yield RULE.at(trainer.place, says=says, raises=raises, trainer=trainer.name, fix=fix)
        if "unsloth" not in run.document.imports:  # it makes the batch fit the group
            yield from _groups(trainer, made)
    yield from _lightning(run)


def _stream(trainer: Event, made: Value) -> Iterator[tuple[str, str, str]]:
    data = trainer.value.keywords.get("train_dataset")
    steps = made.keywords.get("max_steps")
    if (
        data is None
        or (steps is not None and steps.constant != -1)
        or (is_set(made, "max_steps") and steps is None)
    ):
        return
    while data.made == "call" and data.of is not None and data.name in _STREAMED:
        data = data.of
    if data.made == "item" and data.of is not None:
        data = data.of
    if data.made != "call" or data.last != "load_dataset":
        return
    streaming = data.keywords.get("streaming")
    if streaming is not None and streaming.constant is True:
        yield "a stream has no length, and `max_steps` is not set", "ValueError", "set `max_steps`"


def _stopping(trainer: Event, made: Value) -> Iterator[tuple[str, str, str]]:
    callbacks = trainer.value.keywords.get("callbacks")
    if not any(each.last == "EarlyStoppingCallback" for each in walk(callbacks, most=20)):
        return
    best = made.keywords.get("load_best_model_at_end")
    has_no_metric = not is_set(made, "metric_for_best_model") and not is_set(made, "lr_scheduler_type")
    keeps_none = not is_set(made, "load_best_model_at_end") or (best is not None and best.constant is False)
    if has_no_metric and keeps_none:
        fix = 'set `load_best_model_at_end=True`, or `metric_for_best_model="loss"`'
        yield "EarlyStoppingCallback without `metric_for_best_model`", "AssertionError", fix
        return
    strategy = made.keywords.get("eval_strategy")
    is_off = not is_set(made, "eval_strategy") and not is_set(made, "evaluation_strategy")
    if (is_off and not is_set(made, "do_eval")) or (strategy is not None and strategy.constant == "no"):
        yield "EarlyStoppingCallback without evaluation", "AssertionError", 'set `eval_strategy="epoch"`'


def _evaluation(run: Description, trainer: Event, made: Value) -> Iterator[tuple[str, str, str]]:
    if run.at_least("transformers", 4, 46) is False:
        return
    strategy = made.keywords.get("eval_strategy")
    data = trainer.value.argument(_EVALUATED, "eval_dataset")
    if (
        trainer.name not in ("Trainer", "Seq2SeqTrainer")
        or strategy is None
        or "eval_strategy" in made.fields
    ):
        return
    is_on = strategy.constant in ("steps", "epoch")
    if is_on and (data is None or (data.made == "constant" and data.constant is None)):
        says = f'`eval_strategy="{strategy.constant}"` without `eval_dataset`'
        yield says, "ValueError", "pass `eval_dataset`, or drop `eval_strategy`"


_EVALUATED: Final = 4
"""The position of `eval_dataset` among the arguments of a Trainer."""


def _sft(run: Description, trainer: Event, made: Value) -> Iterator[tuple[str, str, str]]:
    if trainer.name != "SFTTrainer" or run.at_least("trl", 0, 19) is False:
        return
    only = made.keywords.get("completion_only_loss")
    if only is not None and only.constant is True and "formatting_func" in trainer.value.keywords:
        fix = "give the dataset `prompt` and `completion` columns, and no `formatting_func`"
        yield "`formatting_func` with `completion_only_loss=True`", "ValueError", fix


def _groups(trainer: Event, made: Value) -> Iterator[Diagnosis]:
    if (
        trainer.name != "GRPOTrainer"
        or is_set(made, "generation_batch_size")
        or is_set(made, "steps_per_generation")
    ):
        return
    group = made.keywords.get("num_generations")
    batch = _number(made, "per_device_train_batch_size", 8) * _number(made, "gradient_accumulation_steps", 1)
    if group is None or type(group.constant) is not int or batch <= 0 or group.constant <= 0:
        return
    if group.constant < 2 or all(batch * devices % group.constant for devices in (1, 2, 4, 8, 16)):
        says = (
            f"a batch of {batch} on each device cannot be split into groups of {group.constant} generations"
        )
        fix = (
            "make per_device_train_batch_size * gradient_accumulation_steps * devices a multiple of `num_generations`, "
            "2 or more"
        )
        yield RULE.at(trainer.place, says=says, raises="ValueError", trainer=trainer.name, fix=fix)


def _lightning(run: Description) -> Iterator[Diagnosis]:
    """What Lightning's Trainer does only where it steps itself."""
    flow = flow_of(run.document)
    for trainer in lightning.trainers(run.document):
        module = lightning.fitted(flow, trainer.value)
        if module is None or not lightning.steps_itself(flow, module):
            continue
        for name, what, off in _OF_AUTOMATIC:
            value = trainer.value.keywords.get(name)
            number = value.constant if value is not None else None
            if isinstance(number, int | float) and number > off:
                says = f"the module steps itself (`automatic_optimization = False`), and `{name}={number}` is set"
                fix = f"drop `{name}` and {what} in `training_step`"
                yield RULE.at(
                    trainer.place,
                    says=says,
                    raises="MisconfigurationException",
                    trainer=trainer.name,
                    fix=fix,
                )


def _number(made: Value, name: str, default: int) -> int:
    """The number that is written, the default where nothing is, 0 where it is not known."""
    if not is_set(made, name):
        return default
    value = made.keywords.get(name)
    return value.constant if value is not None and type(value.constant) is int else 0
