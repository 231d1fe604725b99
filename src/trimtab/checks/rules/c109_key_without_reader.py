"""C109 key-without-reader"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import RemoveKey
from trimtab.checks.evidence import Maintainer
from trimtab.checks.keytable import KeyTable
from trimtab.checks.lifetime import lifetime
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C109",
    name="key-without-reader",
    severity="warning",
    message="{tool} accepts `{key}`, but nothing reads it: {reason}",
    why="The key is declared, so it is no error to write it, but it changes nothing: tuning it compares a "
    "run with itself.",
    evidence=(
        Maintainer(
            "https://github.com/Helsinki-NLP/mammoth/blob/dea5665/mammoth/trainer.py",
            "`loss /= normalization` is commented out both in training and in validation, so that tokens and "
            "sents give the same sum.",
        ),
    ),
    fix=Fix("remove it", safety="same training"),
    bad=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adamw\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: "
        "1000\nnormalization: tokens\n",
    ),
    good=Example(
        "mammoth.yaml",
        "tasks:\n  train_en-de:\n    src_tgt: en-de\n    enc_sharing_group: [en]\n    dec_sharing_group: "
        "[de]\n    node_gpu: '0:0'\n    path_src: en.txt\n    path_tgt: de.txt\nsave_model: "
        "out/model\noptim: adamw\nlearning_rate: 0.0003\ndecay_method: linear_warmup\nwarmup_steps: 1000\n",
    ),
    aliases=("TT103",),
    symptoms=("a setting has no effect",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """What the table says of the version that counts; silent where the file is of an older one."""
    table = run.table
    if table is None or _is_of_an_older_version(run, table):
        return
    for setting in run.keys.values():
        key = table.key(setting.key)
        if key is not None and key.unread:
            yield RULE.at(
                setting, edits=(RemoveKey(setting.key),), tool=run.tool, reason=key.unread.rstrip(".")
            )


def _is_of_an_older_version(run: Description, table: KeyTable) -> bool:
    """Whether a key is written that is gone since, and nobody says which version runs: an older one read more."""
    lives = (lifetime(run, key) for name in run.keys if (key := table.key(name)) is not None)
    return any(each.stage == "removed" and not each.is_certain for each in lives)
