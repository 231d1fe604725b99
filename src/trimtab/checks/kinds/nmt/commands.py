"""Commands of Marian, Sockeye and fairseq in a script, as runs: `torchrun ... sockeye-train --source a --target b`."""

import re
from dataclasses import replace

from trimtab.checks.description import Description
from trimtab.checks.document import Call, Document
from trimtab.checks.keys.table import load_table
from trimtab.checks.keytable import Key, KeyTable, overlaid
from trimtab.checks.kinds.concept_map import Concepts, put, text_list
from trimtab.checks.kinds.kind import Surroundings
from trimtab.checks.kinds.nmt import fairseq_concepts, marian_concepts, sockeye_concepts
from trimtab.checks.kinds.nmt.options import loose_words, typed, written_options
from trimtab.checks.kinds.nmt.programs import program_of
from trimtab.checks.kinds.written import Written, from_beside, settings_of
from trimtab.checks.record import record
from trimtab.checks.setting import Setting

_OF_HYDRA = (
    "config-dir",
    "config-name",
    "config-path",
    "multirun",
    "m",
    "cfg",
    "job",
    "run",
    "cd",
    "cn",
    "cp",
    "c",
)
"""Options of Hydra itself, before the keys that it sets."""
_DEVICES = re.compile(r"\bCUDA_VISIBLE_DEVICES=[\"']?([0-9]+(?:,[0-9]+)*)[\"']?\s+[^;|&]*$")


@record
class _Tool:
    table: str
    short: dict[str, str]


_TOOLS = {
    "marian": _Tool("marian", marian_concepts.SHORT),
    "marian-decoder": _Tool("marian_decoder", marian_concepts.SHORT_DECODER),
    "sockeye": _Tool("sockeye", sockeye_concepts.SHORT),
    "sockeye-prepare": _Tool("sockeye_prepare", sockeye_concepts.SHORT),
    "fairseq": _Tool("fairseq", fairseq_concepts.SHORT),
    "fairseq-hydra": _Tool("fairseq_hydra", {}),
    "fairseq-preprocess": _Tool("fairseq_preprocess", fairseq_concepts.SHORT),
}


def run_of(call: Call, document: Document, surroundings: Surroundings, launcher: Concepts) -> Description:
    """The description of one command; `launcher` is what the program that starts it says."""
    program = program_of(call)
    tool = _TOOLS[program]
    table = load_table(tool.table, surroundings.versions)
    if program == "fairseq-hydra":
        table = overlaid(table, {name: Key(name=name) for name in _OF_HYDRA})
    written = written_options(
        call, document, table, tool.short, is_whole=program != "fairseq-hydra" and _is_whole(call)
    )
    concepts: Concepts = {}
    match program:
        case "marian":
            written = _with_files(written, surroundings)
            marian_concepts.put_marian(
                concepts, replace(written, table=marian_concepts.with_presets(table, written.settings))
            )
        case "marian-decoder":
            put(concepts, "beam", written.settings.get("beam-size"))
        case "sockeye":
            sockeye_concepts.put_sockeye(concepts, written)
        case "fairseq":
            data = next(iter(loose_words(call, document, table, tool.short)), None)
            table, written = _fairseq(call, table, written, data)
            fairseq_concepts.put_fairseq(concepts, written)
        case "fairseq-hydra":
            flat = fairseq_concepts.flat_names(written.settings)
            cli = fairseq_concepts.for_run(load_table("fairseq", surroundings.versions), flat)
            fairseq_concepts.put_fairseq(concepts, replace(written, settings=flat, table=cli))
        case _:
            pass
    return Description(
        tool=table.tool,
        kind="launch",
        document=document,
        keys={setting.key: setting for setting in written.settings.values() if setting.origin == "file"},
        concepts={**concepts, **launcher, **_visible(call, document, concepts)},
        table=table,
        versions=surroundings.versions,
    )


def _is_whole(call: Call) -> bool:
    """Whether no file of options is named."""
    return not {"config", "c"} & call.arguments.keys()


def _with_files(written: Written, surroundings: Surroundings) -> Written:
    """With the options of the YAML that `-c` names beside the script; the command line wins over them."""
    chosen = written.settings.get("config")
    names = text_list(chosen.value) if chosen is not None else None
    if not names or written.table is None:
        return written
    settings: dict[str, Setting] = {}
    for name in (each.removeprefix("./") for each in names):
        document = surroundings.beside(name) if "/" not in name else None
        if document is not None and document.syntax == "yaml":
            settings |= settings_of(document.entries.values(), table=written.table, converts=True)
    known = typed(from_beside(settings), written.table)
    seen = {name: setting for name, setting in known.items() if not written.is_hidden(name)}
    return replace(written, settings={**seen, **written.settings})


def _fairseq(call: Call, table: KeyTable, written: Written, data: str | None) -> tuple[KeyTable, Written]:
    """With the folder of binarized data, which is no option, and the defaults of the architecture."""
    settings = dict(written.settings)
    if data is not None:
        settings["data"] = Setting(key="data", value=data, place=call.place)
    known = fairseq_concepts.for_run(table, settings)
    table = fairseq_concepts.without_lowest_rate(table, settings)
    # A script of that name may be a fork's; the command is fairseq's own.
    is_script = call.name.endswith(".py")
    is_extended = "user-dir" in settings or written.is_hidden("user-dir")
    if is_script or is_extended or fairseq_concepts.is_of_a_fork(table, settings):
        table = fairseq_concepts.as_extended(table, settings)
    # The folder of data is often a variable; what may be options is behind `$@`.
    rest = [word for word in call.positional if not isinstance(word, str)]
    is_whole = written.is_whole or (call.has_rest and len(rest) == 1 and data is None)
    return table, replace(written, settings=settings, table=known, is_whole=is_whole and _is_whole(call))


def _visible(call: Call, document: Document, concepts: Concepts) -> Concepts:
    """The number of GPUs where the command itself says which it sees."""
    if "devices" in concepts and concepts["devices"].is_written:
        return {}
    line = document.text.split("\n")[call.place.line - 1][: call.place.column - 1]
    found = _DEVICES.search(line + " ")
    seen: Concepts = {}
    if found:
        count = len(found[1].split(","))
        put(seen, "devices", Setting(key="CUDA_VISIBLE_DEVICES", value=count, place=call.place))
    return seen
