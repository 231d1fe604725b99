"""M127 head-is-frozen"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, options
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForSequenceClassification, "
    "Trainer\n"
    "model = AutoModelForSequenceClassification.from_pretrained('FacebookAI/roberta-base', num_labels=3)\n"
    "config = LoraConfig(task_type='{task}', r=16, target_modules=['query', 'value'])\n"
    "model = get_peft_model(model, config)\nTrainer(model=model, train_dataset=dataset).train()\n"
)

RULE = Rule(
    code="M127",
    name="head-is-frozen",
    severity="error",
    message="the newly initialized head of {model} stays frozen with `task_type` {task} and no `modules_to_save`",
    why="A checkpoint of a language model has no weights for the head of a classifier: transformers starts it at "
    "random. "
    "PEFT trains it, and saves it, for the task types that have such a head (SEQ_CLS, TOKEN_CLS, QUESTION_ANS); for "
    "any other it must be named in `modules_to_save`. Otherwise the adapter is fitted to a random projection, and a "
    "model that is loaded later draws another one.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/peft/developer_guides/troubleshooting#randomly-initialized-layers",
            "'For some tasks, it is important to correctly configure modules_to_save in the config to account for "
            "randomly initialized layers.'",
        ),
        Maintainer(
            "https://github.com/huggingface/peft/blob/main/src/peft/peft_model.py",
            "PeftModelForSequenceClassification adds 'classifier' and 'score' to `modules_to_save`; other classes do "
            "not.",
        ),
    ),
    fix=Fix("set `{fix}`"),
    bad=Example("train.py", _SCRIPT.replace("{task}", "CAUSAL_LM")),
    good=Example("train.py", _SCRIPT.replace("{task}", "SEQ_CLS")),
    symptoms=(
        "accuracy is at chance with LoRA",
        "loaded adapter gives random predictions",
        "classifier is not trained",
        "only the new classifier should be trained, and it does not change",
        "accuracy stays at chance with a frozen backbone",
    ),
)
_HEADS: Final = {
    "ForSequenceClassification": ("SEQ_CLS", "task_type='SEQ_CLS'"),
    "ForTokenClassification": ("TOKEN_CLS", "task_type='TOKEN_CLS'"),
    "ForQuestionAnswering": ("QUESTION_ANS", "task_type='QUESTION_ANS'"),
    "ForImageClassification": ("", "modules_to_save=['classifier']"),
    "ForAudioClassification": ("", "modules_to_save=['classifier', 'projector']"),
    "ForMultipleChoice": ("", "modules_to_save=['classifier']"),
}
_NEW: Final = ("num_labels", "id2label", "ignore_mismatched_sizes")
_TYPES: Final = frozenset(
    {"CAUSAL_LM", "SEQ_2_SEQ_LM", "SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"}
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A model with a head for a number of labels that the script names, under an adapter of another task."""
    if "peft" not in run.document.imports or says(run.document, "requires_grad", "modules_to_save"):
        return
    for event in flow_of(run.document).named("get_peft_model"):
        model, config = event.value.argument(0, "model"), event.value.argument(1, "peft_config")
        name = loaded_class(model)
        head = next((each for each in _HEADS if name.endswith(each)), None)
        made = options(config)[0] if len(options(config)) == 1 else None
        if head is None or made is None or not _is_seen(made) or not _is_new(model):
            continue
        task = _task(made)
        wanted, fix = _HEADS[head]
        if task is not None and (task != wanted or not wanted) and not _targets_head(made):
            yield RULE.at(event.place, model=name, task=task or "unset", fix=fix)
            return


def _is_seen(config: Value) -> bool:
    return config.made == "call" and config.last.endswith("Config") and not config.has_rest


def _is_new(model: Value | None) -> bool:
    """Whether the script names the labels, as for a task that the checkpoint does not know."""
    return any(name in each.keywords for each in options(model) for name in _NEW)


def _task(config: Value) -> str | None:
    """The task type, empty where none is given, None where it cannot be known."""
    given = config.keywords.get("task_type")
    if given is None:
        return ""
    text = given.constant if isinstance(given.constant, str) else given.last
    return text if text in _TYPES else None


def _targets_head(config: Value) -> bool:
    given = config.keywords.get("target_modules")
    names = [str(each.constant) for each in given.args] if given is not None else []
    return any(name in ("classifier", "score", "qa_outputs") for name in names)
