"""Launch lines: `accelerate launch train.py --learning_rate 2e-5`, `torchrun`, `trl sft --...`, `fairseq-train`."""

from collections.abc import Iterator
from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import KeyTable
from trimtab.checks.kinds.concept_map import Concepts, put
from trimtab.checks.kinds.deepspeed import deepspeed_named
from trimtab.checks.kinds.hf_training import DISTINCTIVE, OF_OWN_LOOPS, SEQ2SEQ, put_script_arguments
from trimtab.checks.kinds.huggingface.arguments import training_concepts
from trimtab.checks.kinds.huggingface.trl_training import put_script, put_trl
from trimtab.checks.kinds.kind import Kind, Surroundings
from trimtab.checks.kinds.llamafactory_parts.versions import accepted
from trimtab.checks.kinds.nmt.programs import program_of
from trimtab.checks.kinds.own_options import with_own
from trimtab.checks.kinds.scripts.launcher import (
    LAUNCHERS,
    launcher_concepts,
    launcher_options,
    model_of_script,
)
from trimtab.checks.kinds.scripts.options import told_options
from trimtab.checks.kinds.scripts.toolkits import toolkit_of, toolkit_run
from trimtab.checks.kinds.trl_training import TRL_SIGNS, trainer_of
from trimtab.checks.kinds.written import Written, hidden_in
from trimtab.checks.setting import Setting

EXAMPLES = frozenset(
    {
        "run_clm.py", "run_clm_flax.py", "run_fim.py", "run_glue.py", "run_mlm.py", "run_ner.py", "run_plm.py",
        "run_qa.py", "run_seq2seq_qa.py", "run_speech_recognition_ctc.py", "run_speech_recognition_seq2seq.py",
        "run_summarization.py", "run_swag.py", "run_translation.py", "run_xnli.py",
    }
)  # fmt: skip
"""Scripts of transformers' own repository: their Trainer has the library's defaults."""
COMMANDS = {"sft": "sft", "dpo": "dpo", "kto": "kto", "reward": "reward", "grpo": "grpo", "rloo": "rloo"}


def recognises(document: Document) -> bool:
    """A launcher, TRL's command, or a script with options that only a Trainer has."""
    return any(_is_trainer(call) or call.name in LAUNCHERS for call in document.calls)


def describe(document: Document, surroundings: Surroundings) -> list[Description]:
    """One description for each program that is started, with what its launcher fixes."""
    runs: list[Description] = []
    launcher: Call | None = None
    for call in document.calls:
        if call.name in LAUNCHERS:
            if launcher is not None:
                runs.append(_description(document, surroundings, None, launcher))
            launcher = call
            continue
        started = launcher if call.qualifier in LAUNCHERS else None
        if started is not None or _is_trainer(call):
            runs.append(_description(document, surroundings, call, started))
        launcher = None if started is not None else launcher
    if launcher is not None:
        runs.append(_description(document, surroundings, None, launcher))
    return runs


def _is_trainer(call: Call) -> bool:
    names = call.arguments.keys()
    if toolkit_of(call) or program_of(call):
        return True
    if call.name == "trl" and call.positional[:1] and call.positional[0] in COMMANDS:
        return True
    if names & OF_OWN_LOOPS or "no_trainer" in call.name:
        return False
    known = load_table("transformers_seq2seq").keys
    if call.name in EXAMPLES:
        return any(name in known for name in names)
    return _is_script(call) and bool(names & DISTINCTIVE) and sum(name in known for name in names) >= 3


def _is_script(call: Call) -> bool:
    return call.name.endswith(".py") or bool(call.qualifier)


def _description(
    document: Document, surroundings: Surroundings, call: Call | None, launcher: Call | None
) -> Description:
    if call is not None and toolkit_of(call) == "llamafactory":
        surroundings = accepted(surroundings)
    concepts: Concepts = launcher_concepts(launcher, document, surroundings) if launcher else {}
    if call is not None and program_of(call):
        from trimtab.checks.kinds.nmt.commands import run_of  # only where there is such a command

        return run_of(call, document, surroundings, concepts)
    keys = launcher_options(launcher) if launcher else {}
    table: KeyTable | None = None
    tool = "accelerate" if launcher is not None and launcher.name == "accelerate-launch" else "torch"
    if call is not None and toolkit_of(call):
        written, own = toolkit_run(call, document, surroundings)
        table, tool = written.table, toolkit_of(call)
        concepts, keys = {**concepts, **own}, {**keys, **written.settings}
    elif call is not None and _is_trainer(call):
        written = _written(call, document, surroundings)
        table, tool = written.table, written.table.tool if written.table else tool
        concepts = _under(concepts, _told(written, call, surroundings))
        keys |= written.settings
    if "wrapped_layers" in concepts and "model_family" not in concepts and call is not None:
        concepts = {**model_of_script(call.name, surroundings), **concepts}
    return Description(
        tool=tool,
        kind=KIND.name,
        document=document,
        keys={setting.key: setting for setting in keys.values()},
        concepts=concepts,
        table=table,
        versions=surroundings.versions,
    )


def _under(launcher: Concepts, script: Concepts) -> Concepts:
    """What both say together: the script's word counts, but for a precision that it only leaves to the launcher."""
    merged = {**launcher, **script}
    if "autocast" in launcher and "autocast" in script and script["autocast"].value == "none":
        merged["autocast"] = launcher["autocast"]
    return merged


def _may_have_more(call: Call) -> bool:
    """Whether a variable may hold further options: `"$@"`, or one behind the value of an option."""
    unseen = [entry.raw for entry in call.arguments.values() if entry.value is UNKNOWN]
    return call.has_rest or any(" " in raw or "@" in raw or "$*" in raw for raw in unseen)


def _written(call: Call, document: Document, surroundings: Surroundings) -> Written:
    """Options are known by the Trainer's names; the rest are the script's own."""
    versions, names = surroundings.versions, frozenset(call.arguments)
    trainer = _trainer(call)
    is_command = call.name == "trl"
    if trainer or is_command:
        tables = [load_table(f"trl_{trainer or 'sft'}", versions), load_table("trl_script", versions)]
        # The command has options of its own launcher, too.
        table = replace(tables[0], keys={**tables[1].keys, **tables[0].keys})
    else:
        table = load_table("transformers_seq2seq" if names & set(SEQ2SEQ) else "transformers", versions)
    # All of them read their options with argparse, which takes the beginning of a name for the name.
    table = with_own(replace(table, abbreviations=True), names)
    call = replace(call, arguments=dict(_in_full(call, table)))
    return Written(
        path=document.path,
        settings=told_options(call, table, ""),
        hidden=hidden_in(call.arguments.values()),
        table=table,
        is_whole=(is_command or call.name in EXAMPLES) and not _may_have_more(call) and "config" not in names,
    )


def _in_full(call: Call, table: KeyTable) -> Iterator[tuple[str, Entry]]:
    for name, entry in call.arguments.items():
        known = table.key(name) if "." not in name else None
        whole = known.name if known is not None else name
        if whole == name or whole not in call.arguments:
            yield whole, replace(entry, key=whole)


def _trainer(call: Call) -> str:
    if call.name == "trl":
        return COMMANDS.get(str(call.positional[0]), "") if call.positional else ""
    return trainer_of(frozenset(call.arguments)) if call.arguments.keys() & TRL_SIGNS else ""


def _told(written: Written, call: Call, surroundings: Surroundings) -> Concepts:
    concepts = training_concepts(written, surroundings.versions)
    trainer = _trainer(call)
    if trainer or call.name == "trl":
        put_trl(concepts, written, surroundings.versions, trainer)
        put_script(concepts, written, surroundings.versions)
    else:
        put_script_arguments(concepts, written, surroundings)
        if call.name in EXAMPLES and written.is_whole and not any("lora" in name for name in call.arguments):
            place = call.place
            put(concepts, "adapter", Setting(key=call.name, value="none", place=place, origin="default"))
    return {**deepspeed_named(written.settings, surroundings), **concepts}


KIND = Kind(
    name="launch",
    tool="transformers",
    title="shell launch lines",
    syntaxes=frozenset({"shell"}),
    recognises=recognises,
    describe=describe,
)
