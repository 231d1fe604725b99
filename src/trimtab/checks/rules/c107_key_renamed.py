"""C107 key-renamed"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RenameKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.lifetime import lifetime
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C107",
    name="key-renamed",
    severity="warning",
    message="`{key}` was renamed in {library} {version}",
    why="The old name still works, with a warning, until the library removes it; then the run no longer "
    "starts.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            "gradient_checkpointing is an alias of activation_checkpointing that warns, to be removed in v6.",
        ),
        Maintainer(
            "https://github.com/marian-nmt/marian-dev/blob/c9f287d/src/common/config_parser.cpp",
            "after-epochs and after-batches are deprecated for `after` with a unit, no-shuffle for `shuffle none`.",
        ),
    ),
    fix=Fix("{fix}", safety="same training"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "gradient_checkpointing": true}',
        versions="transformers=5.24.0",
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "activation_checkpointing": true}',
        versions="transformers=5.24.0",
    ),
    aliases=("TT804",),
    symptoms=(
        "FutureWarning",
        "unexpected keyword argument",
        "DeprecationWarning at start",
        "got an unexpected keyword argument 'evaluation_strategy'",
        "TrainingArguments.__init__() got an unexpected keyword argument",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where the new name is written too. Where the version of the tool itself is unknown the newest counts,
    and the
    way out says so; of a library under the tool nothing is said then: the old name may be the only one."""
    for setting in run.keys.values() if run.table is not None else ():
        key = run.table.key(setting.key) if run.table is not None else None
        if key is None or not (key.renamed_to or key.advice) or not key.renamed_in:
            continue
        age = lifetime(run, key)
        parent = setting.key.rpartition(".")[0]
        new = f"{parent}.{key.renamed_to}".lstrip(".") if "." not in key.renamed_to else key.renamed_to
        is_reported = age.is_certain or (run.table is not None and age.library == run.table.tool)
        if age.stage != "renamed" or not is_reported or new in run.keys:
            continue
        yield RULE.at(
            setting,
            edits=(RenameKey(setting.key, key.renamed_to),)
            if key.renamed_to and not key.advice and age.is_certain
            else (),
            severity=None if age.is_certain else "note",
            library=age.library,
            version=age.version,
            fix=(key.advice or f"write `{key.renamed_to}`")
            + (
                ""
                if age.is_certain
                else f", unless an older {age.library} is used: its version is not known here"
            ),
        )
