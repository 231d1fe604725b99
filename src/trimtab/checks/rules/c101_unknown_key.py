"""C101 unknown-key"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from trimtab.checks.description import Description, Version
from trimtab.checks.edits import RenameKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.keytable import KeyTable
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting
from trimtab.finding import Severity

RULE = Rule(
    code="C101",
    name="unknown-key",
    severity="error",
    message="{tool} knows no key `{key}` and {does}{meant}{anyway}",
    why="A misspelled or foreign key sets nothing: the run continues with the tool's default, or does not "
    "start. If a tool drops it silently, nothing in the log says so.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/config.py",
            "The schema of Axolotl does not forbid extra keys, so pydantic silently drops them.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            'LLaMA-Factory raises "Some specified arguments are not used by the HfArgumentParser".',
        ),
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/src/common/cli_wrapper.cpp",
            "Marian stops at 'There are option(s) in a config file that are not expected', and at an unknown option of "
            "the command line.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/fairseq/blob/3d262bb/fairseq/options.py",
            "fairseq parses with `allow_abbrev=False`, and with the options of the chosen task, architecture, "
            "criterion, optimizer and schedule alone: any other is an unrecognized argument.",
        ),
        Maintainer(
            "https://github.com/awslabs/sockeye/blob/871d986/sockeye/arguments.py",
            "Options of the command line go through argparse, which refuses unknown ones; what a file of `--config` "
            "has becomes an attribute that nothing reads.",
        ),
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeed/blob/edaa722/deepspeed/runtime/config_utils.py",
            'The blocks of DeepSpeed forbid extra keys: "Extra inputs are not permitted"; a value of `auto` is taken '
            "out before. Between the blocks nobody looks.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: "
        "alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.0002\nadapter: "
        "lora\nlora_r: 16\nweight_deacy: 0.1\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: "
        "alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.0002\nadapter: "
        "lora\nlora_r: 16\nweight_decay: 0.1\n",
    ),
    aliases=("TT801",),
    symptoms=("a setting has no effect", "unrecognized arguments", "unexpected keyword argument"),
)

_DOES = {
    "refused": "refuses to start",
    "dropped": "silently drops it",
    "kept": "passes it on unchecked",
}
_REFUSING: dict[str, dict[str, Version]] = {
    "deepspeed": {"zero_optimization": (), "fp16": (0, 17, 1), "bf16": (0, 17, 1)},
}
"""Blocks that refuse an unknown key where the tool drops others, and the version from which they do."""
_ANYWAY: dict[tuple[str, str], Any] = {
    ("axolotl", "fsdp_config.sharding_strategy"): "FULL_SHARD",
    ("axolotl", "fsdp_config.limit_all_gathers"): True,
    ("axolotl", "fsdp_config.forward_prefetch"): False,
}
"""Dropped keys with the value that Accelerate's FullyShardedDataParallelPlugin has by itself: nothing is lost. `fsdp_`
before the last part makes no difference."""
_DIFFERENT = object()


def check(run: Description) -> Iterator[Diagnosis]:
    """Reports the outermost unknown key; keys in an open mapping only if they are close to a known one."""
    table = run.table
    if table is None:
        return
    if _has_foreign_plugin(run):
        table = replace(table, unknown_keys="kept")
    reported: set[str] = set()
    known_below: dict[str, list[str]] = {}
    for setting in run.keys.values():
        if table.key(setting.key) is not None or not reported.isdisjoint(_holders(setting.key)):
            continue
        parent, _, name = setting.key.rpartition(".")
        here = _strictness_at(run, table, setting)
        if here.unknown_keys != "refused" and _is_comment(name):
            reported.add(setting.key)  # and nothing below it is reported
            continue
        if parent not in known_below:
            known_below[parent] = _names_below(table, parent)
        siblings = known_below[parent]
        if name.isdigit() or "*" in siblings or (parent and not siblings):
            continue  # nobody can say what belongs there
        found = _diagnosis(here, setting, siblings)
        if found is not None:
            reported.add(setting.key)
            yield found


def _strictness_at(run: Description, table: KeyTable, setting: Setting) -> KeyTable:
    """The table with what the tool does with an unknown key at this place; of an unknown version the less."""
    block, _, name = setting.key.partition(".")
    since = _REFUSING.get(table.tool, {}).get(block)
    if not name or since is None or setting.value == "auto":
        return table
    version = run.versions.get(table.tool)
    is_refused = not since or (version is not None and version >= since)
    return replace(table, unknown_keys="refused") if is_refused else table


def _is_comment(name: str) -> bool:
    """`_comment`, `//`, `#note`: what people write into a format that has no comments."""
    return name.startswith(("_", "//", "#")) or name.lower() in ("comment", "comments")


def _holders(key: str) -> Iterator[str]:
    """The parents of a dotted key, innermost first."""
    while "." in key:
        key = key.rpartition(".")[0]
        yield key


def _has_foreign_plugin(run: Description) -> bool:
    """Whether a plug-in that is not Axolotl's own may add keys to its schema."""
    plugins = run.written("plugins")
    value: Any = None if plugins is None else plugins.value
    if run.tool != "axolotl" or not value:
        return False
    names = cast("list[Any]", value) if isinstance(value, list) else [value]
    return not all(str(name).startswith("axolotl.integrations.") for name in names)


def _names_below(table: KeyTable, parent: str) -> list[str]:
    """The known names at one place."""
    return [known.rpartition(".")[2] for known in table.keys if _is_below(known, parent)]


def _is_below(known: str, parent: str) -> bool:
    stem = known.rpartition(".")[0]
    if "*" not in stem:
        return stem == parent
    parts, own = stem.split("."), parent.split(".")
    return len(parts) == len(own) and all(a in ("*", b) for a, b in zip(parts, own, strict=True))


def _happens_anyway(table: KeyTable, setting: Setting) -> bool:
    return setting.value == _ANYWAY.get((table.tool, setting.key.replace(".fsdp_", ".")), _DIFFERENT)


def _severity(table: KeyTable, setting: Setting, *, is_unchecked: bool, is_slip: bool) -> Severity:
    """An error where the tool refuses, or drops what was surely meant for it; what is like no key of the tool may be
    left over from another one, and the run may do what it says anyway."""
    if is_unchecked:
        return "warning"
    if table.unknown_keys == "dropped":
        is_idle = setting.value is None or _happens_anyway(table, setting)
        return "note" if is_idle else "error" if is_slip else "warning"
    return "error"


def _diagnosis(table: KeyTable, setting: Setting, siblings: list[str]) -> Diagnosis | None:
    from trimtab.checks.nearest import nearest  # only where a key is unknown

    parent, _, name = setting.key.rpartition(".")
    meant = nearest(name, siblings)
    holder = table.key(parent) if parent else None
    is_unchecked = table.unknown_keys == "kept" or (holder is not None and holder.open)
    if is_unchecked and not meant:
        return None
    return RULE.at(
        setting,
        severity=_severity(table, setting, is_unchecked=is_unchecked, is_slip=bool(meant)),
        edits=(RenameKey(setting.key, meant),) if meant else (),
        tool=table.tool,
        does=_DOES["kept" if is_unchecked else table.unknown_keys],
        meant=f": did you mean `{meant}`?" if meant else "",
        anyway="; it is what happens anyway" if _happens_anyway(table, setting) else "",
        fix=f"write `{meant}`" if meant else f"remove it, or look up its name in {table.source}",
    )
