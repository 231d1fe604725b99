"""E119 labels-decoded-with-ignored"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import numpy as np\nfrom transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq\n"
    "from transformers import Seq2SeqTrainer\ntokenizer = AutoTokenizer.from_pretrained('google-t5/t5-small')\n"
    "model = AutoModelForSeq2SeqLM.from_pretrained('google-t5/t5-small')\ndef metrics(prediction):\n"
    "    predictions, labels = prediction\n{mend}    texts = tokenizer.batch_decode(labels, skip_special_tokens=True)\n"
    "    return score(tokenizer.batch_decode(predictions, skip_special_tokens=True), texts)\n"
    "collator = DataCollatorForSeq2Seq(tokenizer, model=model)\n"
    "Seq2SeqTrainer(model, train_dataset=dataset, data_collator=collator, compute_metrics=metrics).train()\n"
)

RULE = Rule(
    code="E119",
    name="labels-decoded-with-ignored",
    severity="error",
    message="labels are decoded while they still contain -100: the first evaluation raises OverflowError",
    why="The collator pads labels with -100, which the loss leaves out and no vocabulary has. A tokenizer cannot "
    "decode "
    "it; the run stops at its first evaluation, after an epoch of training.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/tasks/summarization",
            "`labels = np.where(labels != -100, labels, tokenizer.pad_token_id)` before `batch_decode`.",
            opened=False,
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/22634",
            "'OverflowError: out of range integral type conversion attempted' in `batch_decode` of an evaluation.",
        ),
    ),
    fix=Fix(
        "put the padding back first: `labels = np.where(labels != -100, labels, tokenizer.pad_token_id)`"
    ),
    bad=Example("train.py", _SCRIPT.replace("{mend}", "")),
    good=Example(
        "train.py",
        _SCRIPT.replace("{mend}", "    labels = np.where(labels != -100, labels, tokenizer.pad_token_id)\n"),
    ),
    symptoms=(
        "OverflowError: out of range integral type conversion attempted",
        "can't convert negative int to unsigned",
        "OverflowError in tokenizer.batch_decode of predictions",
    ),
)
_PADS: Final = ("DataCollatorForSeq2Seq", "Seq2SeqTrainer(", "-100")
"""Collators that pad with -100; the trainer pads with it what differs in length between batches."""


def check(run: Description) -> Iterator[Diagnosis]:
    """`batch_decode` of the second part of a prediction, or of its `label_ids`, as it is, where a collator pads with
    -100."""
    if not says(run.document, *_PADS) or not says(run.document, "compute_metrics"):
        return
    flow = flow_of(run.document)
    for event in flow.named("batch_decode"):
        given = event.value.argument(0, "sequences")
        if given is None or not _is_labels(given):
            continue
        if not any(each.subject is given for each in flow.sets("[]")):
            yield RULE.at(event.place)
            return


def _is_labels(value: Value) -> bool:
    if value.made == "attribute":
        return value.name == "label_ids" and value.of is not None and value.of.made == "parameter"
    is_second = value.made == "item" and bool(value.args) and value.args[0].constant == 1
    return is_second and value.of is not None and value.of.made == "parameter" and "label" in value.label
