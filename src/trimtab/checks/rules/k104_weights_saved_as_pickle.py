"""K104 weights-saved-as-pickle"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_ARGS = '{{"output_dir": "out", "per_device_train_batch_size": 8, "save_safetensors": {value}}}'

RULE = Rule(
    code="K104",
    name="weights-saved-as-pickle",
    severity="warning",
    message="`{key}: false` saves weights as pickle",
    why="Loading such a file runs the code in it, and newer releases refuse to. A damaged file may load "
    "silently. safetensors holds the same numbers.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/model.py",
            "'save_safetensors=False is not supported in Transformers V5.'",
        ),
        Maintainer(
            "https://github.com/github/advisory-database/pull/6063",
            "GHSA-53q9-r3pm-6pq6, CVE-2025-32434: '`torch.load` with `weights_only=True` leads to remote code "
            "execution', fixed in torch 2.6.",
        ),
    ),
    fix=Fix("remove `{key}`, or set it to true", safety="same training"),
    bad=Example("args.json", _ARGS.format(value="false"), versions="transformers=4.57.6"),
    good=Example("args.json", _ARGS.format(value="true"), versions="transformers=4.57.6"),
    symptoms=("checkpoint is corrupt",),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires while the key exists; where it is gone, another rule says so."""
    setting = own(run, "save_safetensors")
    if setting is not None and setting.value is False and run.at_least("transformers", 5) is not True:
        yield RULE.at(setting, edits=(SetValue(setting.key, True),))
