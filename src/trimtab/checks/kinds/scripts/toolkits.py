"""LLaMA-Factory and Axolotl on a command line: options in place of a file, or over one that is not seen here."""

from collections.abc import Mapping

from trimtab.checks.description import Version
from trimtab.checks.document import Call, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.kinds.concept_map import Concepts
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.model_names import put_model_name
from trimtab.checks.kinds.scripts.options import told_options
from trimtab.checks.kinds.written import Written, hidden_in

LLAMAFACTORY = ("stage", "finetuning_type")
"""Options that mark a script of LLaMA-Factory: `python src/train.py --stage sft --finetuning_type lora`."""
FILES = (".yaml", ".yml", ".json")


def toolkit_of(call: Call) -> str:
    """`llamafactory` or `axolotl`; empty if a command is neither of them training."""
    trains = call.positional[:1] == ("train",)
    if call.name == "llamafactory-cli" and trains:
        return "llamafactory"
    if call.name.endswith(".py") and all(name in call.arguments for name in LLAMAFACTORY):
        return "llamafactory"
    return "axolotl" if call.name == "axolotl" and trains and call.arguments else ""


def toolkit_run(call: Call, document: Document, surroundings: Surroundings) -> tuple[Written, Concepts]:
    """The options as written, and what they say; of options over a file only what they say themselves."""
    toolkit = toolkit_of(call)
    table = load_table(toolkit, surroundings.versions)
    is_over_file = any(isinstance(word, str) and word.endswith(FILES) for word in call.positional)
    written = Written(
        path=document.path,
        settings=told_options(call, table, ""),
        hidden=hidden_in(call.arguments.values()),
        table=table,
        is_whole=not call.has_rest and not is_over_file,
    )
    tell = _llamafactory if toolkit == "llamafactory" else _axolotl
    concepts = tell(written, surroundings.versions)
    if not written.is_whole:
        concepts = {concept: setting for concept, setting in concepts.items() if setting.is_written}
    return written, concepts


def _llamafactory(written: Written, versions: Mapping[str, Version]) -> Concepts:
    from trimtab.checks.kinds.llamafactory_parts import adapter, data, machine

    concepts = training_concepts(written, versions)
    put_model_name(concepts, written.get("model_name_or_path"))
    data.put_task(concepts, written)
    machine.put_machine(concepts, written)
    machine.put_optimizer_switches(concepts, written)
    adapter.put_adapter(concepts, written)
    data.put_data(concepts, written)
    data.put_tokens(concepts, written)
    return concepts


def _axolotl(written: Written, versions: Mapping[str, Version]) -> Concepts:
    from trimtab.checks.kinds.axolotl_parts import adapter, data, machine, training

    concepts: Concepts = {}
    put_model_name(concepts, written.get("base_model"))
    data.put_task(concepts, written)
    training.put_training(concepts, written)
    machine.put_precision(concepts, written)
    machine.put_machine(concepts, written)
    adapter.put_adapter(concepts, written)
    data.put_data(concepts, written, versions)
    return concepts
