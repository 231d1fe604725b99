"""C108 key-removed"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import Edit, RemoveKey, RenameKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.keytable import Key
from trimtab.checks.lifetime import is_idle, lifetime
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C108",
    name="key-removed",
    severity="error",
    message="`{key}` is gone from {library} {version} on, and {installed} is used here",
    why="The library has taken the key away: from that version on the run does not start, or the key does "
    "nothing.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
            "transformers 5 removed many keys of TrainingArguments; each of them is an unexpected keyword "
            "argument now.",
            opened=False,
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "TrainingArguments of 5.24.0 has no save_safetensors, which that of 4.57.0 has: as a dataclass "
            "it raises TypeError for a field that it has not.",
        ),
    ),
    fix=Fix("{mend}", safety="same training"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "save_safetensors": true}',
        versions="transformers=5.24.0",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8}',
        versions="transformers=5.24.0",
    ),
    aliases=("TT804",),
    symptoms=("unexpected keyword argument", "does not start after an upgrade"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where the version is unknown: an older one may be meant."""
    table = run.table
    if table is None:
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is None or not key.removed_in:
            continue
        age = lifetime(run, key)
        installed = run.version(age.library)
        if age.stage == "removed" and installed is not None and not is_idle(table, key, setting.value):
            yield RULE.at(
                setting,
                edits=_edits(setting, key),
                library=age.library,
                version=age.version,
                installed=".".join(map(str, installed)),
                mend=_mend(key),
            )


def _edits(setting: Setting, key: Key) -> tuple[Edit, ...]:
    if key.advice:
        return ()
    return (RenameKey(setting.key, key.renamed_to),) if key.renamed_to else (RemoveKey(setting.key),)


def _mend(key: Key) -> str:
    return key.advice or (f"write `{key.renamed_to}`" if key.renamed_to else "remove it")
