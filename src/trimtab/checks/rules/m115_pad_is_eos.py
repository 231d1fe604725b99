"""M115 pad-is-eos"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.place import Place
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M115",
    name="pad-is-eos",
    severity="warning",
    message="the padding token is the end token, and DataCollatorForLanguageModeling takes every padding "
    "token out of the labels",
    why="The collator cannot tell the end of a text from padding, so that the end is never learnt: the model "
    "writes on and on. Nothing warns, and the loss looks right.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/data/data_collator.py",
            "`labels[labels == self.tokenizer.pad_token_id] = -100`.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/23530",
            "The same, reported in 2023 and open since (cited from memory).",
            opened=False,
        ),
    ),
    fix=Fix(
        "give padding a token of its own, or use a collator that pads labels with -100 "
        "(`DataCollatorForSeq2Seq`)"
    ),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling\n"
        "from transformers import Trainer, TrainingArguments\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("gpt2")\ntokenizer.pad_token = tokenizer.eos_token\n'
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype="float32")\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
        "collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)\n"
        "Trainer(model=model, args=args, data_collator=collator).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq\n"
        "from transformers import Trainer, TrainingArguments\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("gpt2")\ntokenizer.pad_token = tokenizer.eos_token\n'
        'model = AutoModelForCausalLM.from_pretrained("gpt2", dtype="float32")\n'
        'args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
        "collator = DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100)\n"
        "Trainer(model=model, args=args, data_collator=collator).train()\n",
    ),
    aliases=("TT301",),
    symptoms=("does not stop", "repeats the same words", "generates until the limit"),
)

_SAME = re.compile(
    r"^[ \t]*[\w.]*(?:tokenizer|tok)\.pad_token((?:_id)?)[ \t]*="
    r"[ \t]*[\w.]*(?:tokenizer|tok)\.eos_token\1[ \t]*(?:#|$)",
    re.MULTILINE,
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script makes that collator for a causal model; texts cut into equal blocks are not padded."""
    if run.document.syntax != "python" or "group_texts" in run.document.text or run.value("packing") is True:
        return
    found = _SAME.search(run.document.text)
    collators = calls_of(run, "DataCollatorForLanguageModeling")
    if found is None or not any(literal(call, "mlm") is False for call in collators):
        return
    line = run.document.text.count("\n", 0, found.start()) + 1
    yield RULE.at(Place(run.document.path, line))
