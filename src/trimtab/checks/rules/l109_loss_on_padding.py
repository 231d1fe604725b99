"""L109 loss-on-padding"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: mine\n"
    "template: qwen3\noutput_dir: out\nper_device_train_batch_size: 4\nignore_pad_token_for_loss: {value}\n"
)

RULE = Rule(
    code="L109",
    name="loss-on-padding",
    severity="warning",
    message="`{key}: false` makes the model learn padding as if it were text",
    why="Labels are padded with the padding token instead of -100, so that every padded position counts. The "
    "padding depends on the batch, not on the data: the loss is diluted by it, and the gradient of a short "
    "example depends on its neighbours. What is logged is no longer the loss of the text.",
    evidence=(
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/train/sft/workflow.py",
            "`label_pad_token_id=IGNORE_INDEX if data_args.ignore_pad_token_for_loss else "
            "tokenizer.pad_token_id`",
        ),
        Arithmetic(
            "Of a batch of 4 with 20, 20, 20 and 200 tokens 540 of 800 label positions are padding; the mean "
            "loss is mostly theirs."
        ),
    ),
    fix=Fix("set `{key}: true`, or remove it: that is the default"),
    bad=Example("llamafactory.yaml", _YAML.format(value="false")),
    good=Example("llamafactory.yaml", _YAML.format(value="true")),
    tips=("S0-58",),
    symptoms=("loss is very low from the start", "outputs end at once", "loss zero"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires on the switch of LLaMA-Factory and of the Trainer's example scripts."""
    setting = own(run, "ignore_pad_token_for_loss") if run.tool in ("llamafactory", "transformers") else None
    if setting is not None and setting.value is False:
        yield RULE.at(setting, edits=(SetValue(setting.key, True),))
