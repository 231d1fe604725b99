"""What no recipe can say, however much of it is taken over: another task, or another part of the model."""

import re

from trimtab.checks.conversion.classification import is_classification, predicts_numbers
from trimtab.checks.description import Description

OTHER_TASKS = {
    "preference": "learns from preferences",
    "reward": "trains a reward model",
    "vision_text": "reads text off images",
}
"""By the words of `task`."""
_HEAD = re.compile(r"For([A-Z]\w*)$")
_TEXT_HEADS = frozenset({"CausalLM", "ConditionalGeneration", "Seq2SeqLM", "PreTraining"})
_OTHER_MODELS = {
    "VisionEncoderDecoderModel": "reads text off images",
    "SpeechEncoderDecoderModel": "reads speech",
}
_SAMPLING = {"GRPOConfig", "RLOOConfig", "PPOConfig", "GRPOTrainer", "RLOOTrainer", "PPOTrainer"}
_OF_STAGE = {"ppo": "learns from rewards", "kto": "learns from preferences", "rm": "trains a reward model"}


def other_task(run: Description) -> str:
    """What the run does, where that is neither translation nor a language model; empty otherwise, or where nobody can
    say."""
    task = run.value("task")
    if task in OTHER_TASKS:
        return OTHER_TASKS[task]
    if run.tool in ("marian", "fairseq") and task is None and (other := _of_nmt(run)):
        return other
    for name in ("stage", "rl"):
        chosen = run.written(name)
        if chosen is not None and chosen.value:
            if name == "rl":
                return f"learns from rewards or preferences (`rl: {chosen.value}`)"
            if chosen.value in _OF_STAGE:
                return _OF_STAGE[chosen.value]
    if is_classification(run):
        return "predicts numbers, or several labels for a text" if predicts_numbers(run) else ""
    return next((what for name in _classes(run) if (what := _by_class(name))), "")


def _of_nmt(run: Description) -> str:
    """What a task of fairseq or a model of Marian is for, where that is neither translation nor a language model."""
    for name in ("type", "task", "task._name"):
        chosen = run.written(name)
        if chosen is not None and isinstance(chosen.value, str) and (run.tool == "fairseq" or name == "type"):
            return f"trains for another task (`{chosen.value}`)"
    return ""


def _classes(run: Description) -> list[str]:
    """Names of the model's class, and of what trains it."""
    loads = (
        call.qualifier.rpartition(".")[2] for call in run.document.calls if call.name == "from_pretrained"
    )
    return [*loads, *(call.name for call in run.document.calls if call.name in _SAMPLING)]


def _by_class(name: str) -> str:
    if name in _OTHER_MODELS:
        return _OTHER_MODELS[name]
    if name in _SAMPLING:
        return f"learns from rewards ({name})"
    found = _HEAD.search(name)
    return "" if found is None or found[1] in _TEXT_HEADS else f"fine-tunes a model for another task ({name})"
