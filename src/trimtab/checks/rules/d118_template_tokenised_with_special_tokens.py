"""D118 template-tokenised-with-special-tokens"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoTokenizer\n"
    'tok = AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B-Instruct")\n'
    "text = tok.apply_chat_template(messages, tokenize=False)\n"
    'inputs = tok(text, return_tensors="pt"{more})\n'
)

RULE = Rule(
    code="D118",
    name="template-tokenised-with-special-tokens",
    severity="warning",
    message="a rendered chat template is tokenised with special tokens: the text begins with two begin tokens",
    why="The template of this family writes the begin token itself, and the tokenizer adds it again. Two of them are a "
    "start that the model was never trained on; answers get worse, and training teaches the wrong start.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/chat_templating",
            "'Chat templates should already include all the necessary special tokens, and adding additional "
            "special tokens "
            "is often incorrect or duplicated': tokenise with add_special_tokens=False.",
        ),
    ),
    fix=Fix("write `add_special_tokens=False`, or let `apply_chat_template` tokenise"),
    bad=Example("infer.py", _SCRIPT.format(more="")),
    good=Example("infer.py", _SCRIPT.format(more=", add_special_tokens=False")),
    symptoms=(
        "double BOS token",
        "begin token twice",
        "worse than the published model",
        "text starts with two BOS tokens",
    ),
)
_ADDING = r"(?i)(llama-[23]|gemma|mistral|mixtral|zephyr|tulu)"
"""Families whose template writes the begin token and whose tokenizer adds it."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Follows a text from `apply_chat_template(tokenize=False)` into a plain call of the same tokenizer."""
    for event in flow_of(run.document).events:
        call = event.value
        if event.kind != "call" or call.of is None or not call.args or "add_special_tokens" in call.keywords:
            continue
        text = call.args[0]
        if text.made == "list" and len(text.args) == 1:
            text = text.args[0]
        is_rendered = text.made == "call" and text.name == "apply_chat_template" and text.of is call.of
        if not is_rendered or call.has_rest or event.name not in ("__call__", "encode", call.of.name):
            continue
        tokenize = text.keywords.get("tokenize")
        if tokenize is not None and tokenize.constant is False and re.search(_ADDING, _name(call.of)):
            yield RULE.at(event.place)


def _name(tokenizer: Value) -> str:
    if tokenizer.made != "call" or tokenizer.last != "from_pretrained":
        return ""
    named = tokenizer.argument(0, "pretrained_model_name_or_path")
    return named.constant if named is not None and isinstance(named.constant, str) else ""
