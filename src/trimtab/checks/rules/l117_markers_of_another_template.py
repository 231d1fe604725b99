"""L117 markers-of-another-template"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value, walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from trl import SFTTrainer\nfrom unsloth import FastLanguageModel\n"
    "from unsloth.chat_templates import get_chat_template, train_on_responses_only\n"
    'model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Meta-Llama-3.1-8B-Instruct")\n'
    'tokenizer = get_chat_template(tokenizer, chat_template="llama-3.1")\n'
    "trainer = SFTTrainer(model=model, train_dataset=data)\n"
    "trainer = train_on_responses_only(trainer, instruction_part={user!r}, response_part={answer!r})\n"
)

RULE = Rule(
    code="L117",
    name="markers-of-another-template",
    severity="error",
    message="answers are expected after {marker}, which the template {template} never writes: every label is "
    "masked",
    why="The loss counts what follows the marker of an answer. A marker that does not occur masks everything: the "
    "loss is 0 or "
    "NaN, or the examples are dropped.",
    evidence=(
        Maintainer(
            "https://github.com/unslothai/unsloth/issues/2095",
            "'All labels in your dataset are -100', with a chat template of Llama 3.1.",
        ),
        Maintainer(
            "https://huggingface.co/docs/transformers/chat_templating",
            "ChatML writes <|im_start|>; the same conversation looks different with each model's template.",
            opened=False,
        ),
        Arithmetic(
            "Labels are kept behind the marker alone: where it does not occur, 0 of n tokens are targets."
        ),
    ),
    fix=Fix("give the markers of {template}: {right}"),
    bad=Example("train.py", _SCRIPT.format(user="<|im_start|>user\n", answer="<|im_start|>assistant\n")),
    good=Example(
        "train.py",
        _SCRIPT.format(
            user="<|start_header_id|>user<|end_header_id|>\n\n",
            answer="<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
    ),
    symptoms=(
        "every label is masked",
        "loss is zero",
        "loss is NaN",
        "Could not find response key",
        "all labels are -100 after the collator",
        "loss is 0 with completion only collator",
    ),
)
_MARKS = {
    "<|im_start|>": ("chatml", "qwen", "yi", "smollm"),
    "<|start_header_id|>": ("llama-3", "llama3", "llama_3"),
    "<start_of_turn>": ("gemma",),
    "[INST]": ("mistral", "mixtral", "llama-2", "llama2"),
    "<|start|>": ("gpt-oss",),
    "<|user|>": ("phi-3", "phi3", "zephyr"),
}
"""The sign of each template, and what names of templates and models have it."""
_CALLS = ("train_on_responses_only", "DataCollatorForCompletionOnlyLM")


def check(run: Description) -> Iterator[Diagnosis]:
    """A marker that is written beside a template, or a model of instructions, that is written too."""
    flow = flow_of(run.document)
    template = _template(list(flow.named("get_chat_template")), "chat_template") or ""
    if not template:
        template = _template(list(flow.named("from_pretrained")), "pretrained_model_name_or_path")
        if "instruct" not in template.lower() and "-it" not in template.lower():
            return
    right = _sign(template)
    for event in flow.named(*_CALLS):
        marks = [
            each for value in (*event.value.args, *event.value.keywords.values()) for each in _texts(value)
        ]
        used = {sign for sign in _MARKS for mark in marks if sign in mark}
        if right and used and right not in used:
            yield RULE.at(event.place, marker=sorted(used)[0], template=template, right=right)


def _template(events: list[Event], name: str) -> str:
    found = {
        value.constant
        for event in events
        for value in [
            event.value.argument(1 if name == "chat_template" else 0, name)
            or event.value.keywords.get("model_name")
        ]
        if value is not None and isinstance(value.constant, str)
    }
    return found.pop() if len(found) == 1 else ""


def _sign(template: str) -> str:
    name = template.lower()
    found = [sign for sign, parts in _MARKS.items() if any(part in name for part in parts)]
    return found[0] if len(found) == 1 else ""


def _texts(value: Value) -> list[str]:
    return [each.constant for each in walk(value, most=6) if isinstance(each.constant, str)]
