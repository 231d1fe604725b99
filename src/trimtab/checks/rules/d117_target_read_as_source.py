"""D117 target-read-as-source"""

import re
from collections.abc import Iterator

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import MarianTokenizer\n"
    'tok = MarianTokenizer.from_pretrained("Helsinki-NLP/opus-mt-en-de")\ndef prepare(example):\n'
    '    batch = tok(example["en"], truncation=True)\n'
    '    batch["labels"] = tok({how}example["de"], truncation=True)["input_ids"]\n    return batch\n'
)

RULE = Rule(
    code="D117",
    name="target-read-as-source",
    severity="warning",
    message="labels are made by {tokenizer} without `text_target`: the target is tokenised as if it were source text",
    why="Marian has one SentencePiece model a side, and mBART and NLLB put the code of the source language at the "
    "labels. "
    "The model is trained on pieces, or with a language, that it never sees when it writes.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/model_doc/marian",
            "`tokenizer(src_text, text_target=tgt_text)`.",
            opened=False,
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/marian/tokenization_marian.py",
            "`_switch_to_target_mode` takes `spm_target` in place of `spm_source`.",
        ),
    ),
    fix=Fix("write `tokenizer(text_target=...)`"),
    bad=Example("prepare.py", _SCRIPT.format(how="")),
    good=Example("prepare.py", _SCRIPT.format(how="text_target=")),
    symptoms=("translates into the wrong language", "writes unknown tokens", "loss is high"),
)
_CLASSES = (
    "MarianTokenizer",
    "MBartTokenizer",
    "MBart50Tokenizer",
    "NllbTokenizer",
    "M2M100Tokenizer",
    "PLBartTokenizer",
)
_NAMES = r"(?i)(opus-mt|mbart|nllb-|m2m100)"


_SWITCHES = (
    "text_target",
    "as_target_tokenizer",
    "_switch_to_target",
    "set_tgt_lang",
    ".src_lang =",
    "current_spm",
)
"""What a script says where it switches the tokenizer to the other side."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the tokenizer is one of two sides, its plain call becomes `labels`, and nothing switches sides."""
    for event in flow_of(run.document).sets("[]", "labels"):
        key = event.item.constant if event.item is not None else event.name
        made = event.value
        if key != "labels" or made.made not in ("item", "attribute") or made.of is None:
            continue
        call = made.of
        tokenizer = call.of if call.made == "call" and call.name in ("__call__", "tok", "tokenizer") else None
        if tokenizer is not None and call.args and (name := _two_sided(tokenizer)):
            if says(run.document, *_SWITCHES):
                return
            yield RULE.at(call.place or event.place, tokenizer=name)
            return


def _two_sided(tokenizer: Value) -> str:
    if tokenizer.made != "call" or tokenizer.last != "from_pretrained":
        return ""
    owner = tokenizer.name.rpartition(".")[0].rpartition(".")[2]
    named = tokenizer.argument(0, "pretrained_model_name_or_path")
    name = named.constant if named is not None and isinstance(named.constant, str) else ""
    if owner.removesuffix("Fast") in _CLASSES:
        return owner
    return name if owner == "AutoTokenizer" and re.search(_NAMES, name) else ""
