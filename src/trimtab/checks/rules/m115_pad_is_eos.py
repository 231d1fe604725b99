"""M115 pad-is-eos"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of, literal
from trimtab.checks.place import Place
from trimtab.checks.read.flow.masks import maskings
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.lines import Lines
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.training_script import loads_model, trains

RULE = Rule(
    code="M115",
    name="pad-is-eos",
    severity="warning",
    message="the padding token is the end token, and {who} takes every padding token out of the labels",
    why="The collator cannot tell the end of a text from padding, so that the end is never learned: the model "
    "writes on and on. Nothing warns, and the loss looks right.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/data/data_collator.py",
            "`labels[labels == self.tokenizer.pad_token_id] = -100`.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/23530",
            "'all EOS tokens in the labels are overwritten with -100, instead of just the ones used for padding': "
            "reported in 2023 and open since.",
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
    symptoms=(
        "model answers with an empty text after fine-tuning",
        "does not stop",
        "repeats the same words",
        "generates until the limit",
        "generation never ends because padding is the end token",
        "model does not produce the end of turn after fine-tuning",
        "model keeps talking after its answer",
        "pad token is eos token",
    ),
)

_SAME = re.compile(
    r"^[ \t]*([\w.]*(?:tokenizer|tok)\.pad_token((?:_id)?)[ \t]*="
    r"[ \t]*[\w.]*(?:tokenizer|tok)\.eos_token\2)[ \t]*(?:#|$)",
    re.MULTILINE,
)
_COLLATOR = "DataCollatorForLanguageModeling"
_OF_TRANSFORMERS = frozenset({"transformers"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a script trains a model of its own with that collator of transformers (TRL's goes by lengths). Texts
    cut into equal blocks are not padded; where nothing appends the end token, there is none to lose."""
    document = run.document
    if document.syntax != "python" or "group_texts" in document.text or run.value("packing") is True:
        return
    place, rest = _written(run)
    if place is None or not trains(run) or not loads_model(run):
        return
    who = "DataCollatorForLanguageModeling" if _collates(run) else "the script" if _masks(run) else ""
    if who:
        yield RULE.at(place, severity=None if "eos_token" in rest else "note", who=who)


def _written(run: Description) -> tuple[Place | None, str]:
    """Where the two become one, and the text around it."""
    document = run.document
    if found := _line(document.text):
        lines = Lines(document.path, document.text)
        rest = document.text[: found.start(1)] + document.text[found.end(1) :]
        return lines.place(found.start(1), found.end(1)), rest
    flow = flow_of(document)
    for event in flow.sets("pad_token", "pad_token_id"):
        if event.value.name == event.name.replace("pad", "eos") and event.value.of is event.subject:
            return event.place, _without_line(run, event.place)
    for event in flow.named("add_special_tokens", "from_pretrained"):
        given = (
            event.value.argument(0, "special_tokens_dict") if event.name != "from_pretrained" else event.value
        )
        pad = given.keywords.get("pad_token") if given is not None else None
        if pad is not None and (pad.name == "eos_token" or pad.constant in ("<|endoftext|>", "</s>")):
            return event.place, _without_line(run, event.place)
    return None, ""


def _without_line(run: Description, place: Place) -> str:
    lines = run.document.text.splitlines()
    return "\n".join(lines[: place.line - 1] + lines[place.line :])


def _line(text: str) -> re.Match[str] | None:
    """The line that makes the two one."""
    at = text.find(".pad_token")
    while at >= 0:
        if found := _SAME.match(text, text.rfind("\n", 0, at) + 1):
            return found
        at = text.find(".pad_token", at + 1)
    return None


def _collates(run: Description) -> bool:
    if run.document.sources.get(_COLLATOR, _OF_TRANSFORMERS) != _OF_TRANSFORMERS:
        return False
    return any(literal(call, "mlm") is False for call in calls_of(run, _COLLATOR))


def _masks(run: Description) -> bool:
    """Whether the script does the same by hand: `labels[labels == tokenizer.pad_token_id] = -100`."""
    for each in maskings(flow_of(run.document)) if "-100" in run.document.text else ():
        test = each.condition
        parts = (
            test.args if test is not None and test.made == "compare" and test.name in ("Eq", "NotEq") else ()
        )
        if each.filled.constant == -100 and any(part.name == "pad_token_id" for part in parts):
            return True
    return False
