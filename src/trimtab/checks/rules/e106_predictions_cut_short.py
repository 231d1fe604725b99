"""E106 predictions-cut-short"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, is_unset, own, own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments\n"
    'model = AutoModelForSeq2SeqLM.from_pretrained("google/mt5-small")\n'
    'args = Seq2SeqTrainingArguments(output_dir="out", predict_with_generate=True{length})\n'
    "trainer = Seq2SeqTrainer(model=model, args=args)\ntrainer.evaluate()\n"
)
_TWENTY = frozenset({"t5", "mt5", "umt5", "longt5"})
"""Families whose published models have no `max_length` of their own."""

RULE = Rule(
    code="E106",
    name="predictions-cut-short",
    severity="warning",
    message="evaluation decodes at most {most} tokens{reason}",
    why="Longer translations or summaries are cut off, so that BLEU, ROUGE and the like are low however good "
    "the model is, while the loss is not touched.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/generation/"
            "configuration_utils.py",
            'The global default is `"max_length": 20`.',
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_seq2seq.py",
            "Without `generation_max_length` the model's own generation config decides.",
        ),
    ),
    fix=Fix("set `generation_max_length` to the length of the longest labels, such as 128"),
    bad=Example("train.py", _SCRIPT.format(length="")),
    good=Example("train.py", _SCRIPT.format(length=", generation_max_length=128")),
    symptoms=("predictions are cut off", "BLEU is low but the loss is good", "outputs end in the middle"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for T5's kin in a script that sets no length, and where labels may be longer than predictions."""
    decodes = run.setting("predict_with_generate")
    if run.tool != "transformers" or decodes is None or not decodes.value:
        return
    most, labels = own(run, "generation_max_length"), own_value(run, "max_target_length")
    if most is not None and type(most.value) is int and type(labels) is int and 0 < most.value < labels:
        yield RULE.at(most, most=most.value, reason=f", but labels have up to {labels}")
    elif run.document.syntax == "python" and run.value("model_family") in _TWENTY and _sets_no_length(run):
        yield RULE.at(decodes, most=20, reason=", the library's default, which these models leave as it is")


def _sets_no_length(run: Description) -> bool:
    """Whether neither the configuration, nor a call that decodes, nor the model's own config says one."""
    text = run.document.text
    if not all(is_unset(run, name) for name in ("generation_max_length", "generation_config")):
        return False
    decoding = calls_of(run, "evaluate", "predict", "generate", "train")
    lengths = ("max_length", "max_new_tokens", "generation_config")
    given = any(call.has_rest or any(name in call.arguments for name in lengths) for call in decoding)
    return not given and "generation_config" not in text and "config.max_length" not in text
