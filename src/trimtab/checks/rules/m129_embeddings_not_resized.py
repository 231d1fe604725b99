"""M129 embeddings-not-resized"""

from collections.abc import Iterator
from typing import Final

from trimtab.checks.code_text import says
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import forwards, loaded_class
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.read.flow.values import Value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer\n"
    "tokenizer = AutoTokenizer.from_pretrained('HuggingFaceTB/SmolLM2-135M')\n"
    "tokenizer.add_special_tokens({'additional_special_tokens': ['<call>', '</call>']})\n"
    "model = AutoModelForCausalLM.from_pretrained('HuggingFaceTB/SmolLM2-135M')\n{resize}"
    "Trainer(model=model, train_dataset=dataset, processing_class=tokenizer).train()\n"
)

RULE = Rule(
    code="M129",
    name="embeddings-not-resized",
    severity="warning",
    message="tokens are added to the tokenizer ({tokens}) and the embeddings of the model are not resized",
    why="A new token gets the next number after the end of the vocabulary. Where the embedding has no row for it the "
    "first batch that has one fails, on a GPU with an assertion inside a kernel that does not name the cause. Some "
    "checkpoints have spare rows; those were never trained.",
    evidence=(
        Maintainer(
            "https://huggingface.co/docs/transformers/main_classes/tokenizer",
            "'When adding new tokens to the vocabulary, you should make sure to also resize the token embedding "
            "matrix of "
            "the model so that its embedding matrix matches the tokenizer.'",
        ),
    ),
    fix=Fix("call `model.resize_token_embeddings(len(tokenizer))` after loading"),
    bad=Example("train.py", _SCRIPT.replace("{resize}", "")),
    good=Example("train.py", _SCRIPT.replace("{resize}", "model.resize_token_embeddings(len(tokenizer))\n")),
    symptoms=(
        "IndexError: index out of range in self",
        "CUDA error: device-side assert triggered",
        "Assertion `srcIndex < srcSelectDimSize` failed",
        "indexSelectLargeIndex Assertion srcIndex < srcSelectDimSize failed",
        "CUDA error: device-side assert triggered after adding tokens",
    ),
)
_RESIZED: Final = (
    "resize_token_embeddings",
    "resize_embeddings",
    "setup_chat_format",
    "clone_chat_template",
    "smart_tokenizer",
    "added_tokens",
    "set_input_embeddings",
    "nn.Embedding(",
)
_KNOWN: Final = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "<mask>",
    "<|endoftext|>",
    "<eos>",
    "<bos>",
)
"""Tokens that many vocabularies have."""


def check(run: Description) -> Iterator[Diagnosis]:
    """New tokens that are written out and in no usual vocabulary, in a script that trains a loaded model with a
    Trainer, where nothing resizes anything."""
    added = list(flow_of(run.document).named("add_tokens", "add_special_tokens"))
    if not added or says(run.document, *_RESIZED):
        return
    if not any(loaded_class(each.value.argument(0, "model")) for each in trainers(run)) and not _is_looped(
        run
    ):
        return
    for event in added:
        given = event.value.args[0] if event.value.args else None
        new = _texts(given) if given is not None else []
        if new and event.subject is not None and "okenizer" in event.subject.name:
            yield RULE.at(event.place, tokens=", ".join(new[:3]))
            return


def _is_looped(run: Description) -> bool:
    """Whether a loop of the script that steps calls a model that it loads from transformers."""
    return any(
        loaded_class(call.value.of)
        for loop in training_loops(flow_of(run.document))
        if next(loop.steps(), None) is not None
        for call in forwards(list(loop.events))
    )


def _texts(value: Value) -> list[str]:
    """The texts in lists and mappings; what a tokenizer has already (`tok.eos_token`) is none of them."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each.constant, str):
            found.append(each.constant)
        elif each.made in ("list", "dict"):
            waiting += [*each.args, *each.keywords.values()]
        elif each.made == "call" and each.last == "AddedToken":
            waiting += each.args[:1]
    return [text for text in found if text not in _KNOWN]
