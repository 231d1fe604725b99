"""D132 generation-prompt-in-training-text"""

from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Event, Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoTokenizer\nfrom trl import SFTConfig, SFTTrainer\n"
    "tokenizer = AutoTokenizer.from_pretrained('HuggingFaceTB/SmolLM2-135M-Instruct')\ndef render(row):\n"
    "    text = tokenizer.apply_chat_template(row['messages'], tokenize=False, add_generation_prompt={prompt})\n"
    "    return {'text': text}\ndataset = dataset.map(render)\n"
    "SFTTrainer('HuggingFaceTB/SmolLM2-135M-Instruct', args=SFTConfig('out'), train_dataset=dataset).train()\n"
)

RULE = Rule(
    code="D132",
    name="generation-prompt-in-training-text",
    severity="warning",
    message="the text to train on is rendered with `add_generation_prompt=True`: each example ends with an empty "
    "assistant header",
    why="The generation prompt opens the next turn of the assistant. Behind a whole conversation it teaches the "
    "model to "
    "open another turn after its answer, and then to stop.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/v4.45.2/chat_templating",
            "'When training, you should usually set add_generation_prompt=False, because the added tokens to prompt an "
            "assistant response will not be helpful during training.'",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/main/trl/data_utils.py",
            "`apply_chat_template` of TRL sets `add_generation_prompt` for a prompt alone, and not for `messages`.",
        ),
    ),
    fix=Fix("pass `add_generation_prompt=False`, or give the `messages` to the trainer as they are"),
    bad=Example("train.py", _SCRIPT.replace("{prompt}", "True")),
    good=Example("train.py", _SCRIPT.replace("{prompt}", "False")),
    symptoms=(
        "answers end with another assistant header",
        "does not stop generating",
        "model writes another user or assistant turn",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """A rendered conversation that a function gives back as `text`, alone, in a script of supervised fine-tuning."""
    if not says(run.document, "SFTTrainer"):
        return
    for event in flow_of(run.document).named("apply_chat_template"):
        given = event.value.keywords.get("add_generation_prompt")
        if given is not None and given.constant is True and _is_text(event) and _is_conversation(event.value):
            yield RULE.at(event.place)
            return


def _is_text(event: Event) -> bool:
    """Whether it is the whole text that a function gives back."""
    for block in event.path:
        for returned in block.returned if block.kind == "function" else ():
            text = returned.keywords.get("text") if returned.made == "dict" else None
            if text is event.value:
                return True
            if (
                text is not None
                and text.name == "comprehension"
                and any(each is event.value for each in text.args)
            ):
                return True
    return False


def _is_conversation(call: Value) -> bool:
    """Whether what is rendered may be a whole conversation; a prompt by its name is not one."""
    given = call.argument(0, "conversation")
    for each in (given, *(given.args if given is not None else ())):
        names = (each.label, each.name, str(each.constant)) if each is not None else ()
        if any("prompt" in name.lower() for name in names):
            return False
    return given is not None and given.made != "list"
