"""C116 key-too-new"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.lifetime import is_idle, lifetime
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C116",
    name="key-too-new",
    severity="error",
    message="`{key}` needs {library} {version} or newer, but this is {installed}",
    why="An older version refuses the key or drops it, so the run does not do what the file says.",
    evidence=(
        Arithmetic("A dataclass takes the fields that it has, and raises TypeError for any other."),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "activation_checkpointing, which earlier releases do not have.",
        ),
    ),
    fix=Fix("use {library} {version} or newer, or the older key"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "epoch"}',
        versions="transformers=4.40.0",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "epoch"}',
        versions="transformers=4.44.0",
    ),
    symptoms=("unexpected keyword argument", "works on another machine"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where the version is unknown."""
    table = run.table
    if table is None:
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is None or not key.since or is_idle(table, key, setting.value):
            continue
        age = lifetime(run, key)
        version = run.version(age.library)
        if age.stage == "not yet" and version is not None:
            installed = ".".join(map(str, version))
            # Unsloth makes its own classes, which may take more than the library that is pinned beside it.
            severity = "warning" if "unsloth" in run.document.imports else None
            yield RULE.at(
                setting, severity=severity, library=age.library, version=age.version, installed=installed
            )
