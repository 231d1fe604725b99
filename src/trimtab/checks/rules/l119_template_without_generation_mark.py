"""L119 template-without-generation-mark"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from trl import SFTConfig, SFTTrainer\n"
    'args = SFTConfig(output_dir="out", assistant_only_loss=True, learning_rate=2e-5, warmup_steps=50{path})\n'
    'SFTTrainer(model="Qwen/Qwen3-0.6B", args=args, train_dataset=chats).train()\n'
)

RULE = Rule(
    code="L119",
    name="template-without-generation-mark",
    severity="warning",
    message="`assistant_only_loss` looks for a generation mark, and the published template of {model} has none: "
    "every label "
    "is masked",
    why="`{{% generation %}}` in the chat template marks the assistant's tokens. Without it no "
    "token is, "
    "and nothing is learned. Newer versions of TRL put a template with the mark in its place.",
    evidence=(
        Maintainer(
            "https://github.com/QwenLM/Qwen3/issues/1522",
            "'at least one example has no assistant tokens': the template of Qwen3-0.6B 'may be missing the "
            "`{% generation %}` keyword'.",
        ),
        Maintainer(
            "https://github.com/huggingface/trl/blob/36027d8/trl/trainer/sft_config.py",
            "assistant_only_loss is 'supported only for conversational datasets' and needs a chat template that "
            "supports "
            "returning the assistant tokens mask via the generation keyword.",
        ),
    ),
    fix=Fix("give a `chat_template_path` whose template has the mark, or use TRL 0.24 or newer"),
    bad=Example("train.py", _SCRIPT.format(path=""), versions="trl=0.19.0 transformers=4.52.0"),
    good=Example(
        "train.py",
        _SCRIPT.format(path=', chat_template_path="marked.jinja"'),
        versions="trl=0.19.0 transformers=4.52.0",
    ),
    symptoms=(
        "every label is masked",
        "loss is zero",
        "assistant_only_loss masks everything",
        "loss is NaN because all labels are masked",
    ),
)
PATCHED = (0, 24)
"""From here on TRL exchanges templates that it knows."""
_UNMARKED = r"(?i)(qwen[23]|llama-[23]|gemma-[23]|mistral)"


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where TRL is known to be older, and a script names the model and no template."""
    only = own(run, "assistant_only_loss")
    if only is None or only.value is not True or run.at_least("trl", *PATCHED) is not False:
        return
    if own(run, "chat_template_path") is not None or "chat_template" in run.document.text:
        return
    for trainer in trainers(run):
        model = trainer.value.argument(0, "model")
        name = (
            model.constant
            if model is not None and isinstance(model.constant, str)
            else run.value("model_name")
        )
        if isinstance(name, str) and re.search(_UNMARKED, name):
            yield RULE.at(only, model=name)
            return
