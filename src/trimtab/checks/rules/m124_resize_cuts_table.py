"""M124 resize-cuts-table"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import root
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n"
    'tok = AutoTokenizer.from_pretrained("facebook/nllb-200-distilled-600M")\n'
    'model = AutoModelForSeq2SeqLM.from_pretrained("facebook/nllb-200-distilled-600M")\n'
    "{more}model.resize_token_embeddings(len(tok))\n"
)

RULE = Rule(
    code="M124",
    name="resize-cuts-table",
    severity="warning",
    message="no token was added, and the table of {name} is larger than its tokenizer: this cuts rows off",
    why="The rows behind the last token pad the table to a size that the GPU likes. Cut off, the model no longer "
    "fits its "
    "own checkpoint, adapters that others made for it, or the grid of the GPU, and nothing is gained.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/issues/32852",
            "'`resize_token_embeddings` with same tokenizer changing the model Embedding size': NLLB's to 256,204.",
        ),
        Arithmetic(
            "NLLB: 256,206 rows, 256,204 tokens; T5: 32,128 and 32,100; Qwen2.5-7B: 152,064 and 151,665."
        ),
    ),
    fix=Fix("resize only where `len(tokenizer)` is larger than the table, after tokens were added"),
    bad=Example("train.py", _SCRIPT.format(more="")),
    good=Example("train.py", _SCRIPT.format(more='tok.add_tokens(["<2ja>"])\n')),
    symptoms=("size mismatch", "adapter cannot be loaded"),
)
_PADDED = r"(?i)(nllb-200|(^|/)(flan-)?t5-|mt5-|qwen\d|pythia-|gpt-neox|gpt-j|codegen|opt-\d|phi-[12])"
"""Published models whose table has more rows than their tokenizer has tokens."""
_ADDING = ("add_tokens", "add_special_tokens", "set_special_tokens", "get_chat_template", "setup_chat_format")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a model that is known by name is resized to its own tokenizer, and nothing in the script adds to
    it."""
    flow = flow_of(run.document)
    if any(True for _ in flow.named(*_ADDING)) or "pad_token" in run.document.text or not flow.is_whole:
        return
    for event in flow.named("resize_token_embeddings"):
        size, name = event.value.argument(0, "new_num_tokens"), _name(root(event.subject))
        is_length = size is not None and size.made == "call" and size.name == "len" and len(size.args) == 1
        guarded = any(block.kind in ("if", "else") for block in event.path)
        if (
            is_length
            and size is not None
            and not guarded
            and re.search(_PADDED, name)
            and _name(size.args[0]) == name
        ):
            yield RULE.at(event.place, name=name)


def _name(value: Value | None) -> str:
    if value is None or value.made != "call" or value.last != "from_pretrained":
        return ""
    named = value.argument(0, "pretrained_model_name_or_path")
    return named.constant if named is not None and isinstance(named.constant, str) else ""
