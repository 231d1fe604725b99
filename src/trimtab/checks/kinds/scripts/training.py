"""The configuration of a Trainer in a script."""

from collections.abc import Iterator
from dataclasses import replace

from trimtab.checks.document import Call, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.deepspeed import deepspeed_named
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.huggingface.trl_training import TASKS, put_trl
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.scripts.calls import may_be_of, written_of
from trimtab.checks.kinds.written import Written

CLASSES = {
    "TrainingArguments": ("transformers", "transformers"),
    "Seq2SeqTrainingArguments": ("transformers", "transformers_seq2seq"),
    "SFTConfig": ("trl", "trl_sft"),
    "DPOConfig": ("trl", "trl_dpo"),
    "KTOConfig": ("trl", "trl_kto"),
    "RewardConfig": ("trl", "trl_reward"),
    "GRPOConfig": ("trl", "trl_grpo"),
    "RLOOConfig": ("trl", "trl_rloo"),
}
"""Class to the library that must be imported, and the table of its keys."""


def configurations(document: Document) -> list[Call]:
    """Calls that configure a Trainer."""
    return [
        call
        for call in (*document.calls, *_parsed(document))
        if call.name in CLASSES and CLASSES[call.name][0] in document.imports and is_known(call, document)
    ]


def _parsed(document: Document) -> Iterator[Call]:
    """Configurations that a parser of the command line makes, where the script itself says something of them."""
    for call in document.parsed:
        if call.name not in CLASSES:
            continue
        keys = load_table(CLASSES[call.name][1]).keys
        own = {name: entry for name, entry in call.arguments.items() if name in keys}
        if own:
            yield replace(call, arguments=own)


def is_known(call: Call, document: Document) -> bool:
    """Whether the class is one of `CLASSES`, and no other library's of the same name."""
    return call.name in CLASSES and may_be_of(call, document, CLASSES[call.name][0])


def table_of(call: Call, surroundings: Surroundings) -> KeyTable:
    """What the class takes, by plain names."""
    return load_table(CLASSES[call.name][1], surroundings.versions)


def trainer_concepts(call: Call, document: Document, surroundings: Surroundings) -> tuple[Concepts, Written]:
    """What one configuration says."""
    written = written_of(call, document, table_of(call, surroundings))
    concepts = training_concepts(written, surroundings.versions)
    trainer = CLASSES[call.name][1].removeprefix("trl_") if CLASSES[call.name][0] == "trl" else ""
    if trainer:
        put_trl(concepts, written, surroundings.versions, trainer)
        put(concepts, "task", next(iter(written.settings.values()), None), TASKS.get(trainer))
    return {**deepspeed_named(written.settings, surroundings), **concepts}, written
