"""S136 steps-override-epochs"""

from collections.abc import Iterator

from trimtab.checks.combination import written
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S136",
    name="steps-override-epochs",
    severity="note",
    message="max_steps {steps} overrides {epochs:g} epochs",
    why="Where both are set the number of steps decides, whatever the size of the data; a smoke test's "
    "`max_steps` that stays in the file ends the real run early, and the schedule with it.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            'max_steps: "If set to a positive number, the total number of training steps to perform. '
            'Overrides `num_train_epochs`."',
        ),
    ),
    fix=Fix("keep one of them"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 100, "num_train_epochs": 3}',
    ),
    good=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "num_train_epochs": 3}'
    ),
    symptoms=("training ends early",),
)

_KEYS = {
    "transformers": "num_train_epochs",
    "trl": "num_train_epochs",
    "llamafactory": "num_train_epochs",
    "axolotl": "num_epochs",
}


def check(run: Description) -> Iterator[Diagnosis]:
    """Where both are written; one epoch is what many write out of habit."""
    key, steps = _KEYS.get(run.tool), written(run, "max_steps")
    epochs = None if key is None else written(run, key)
    if steps is None or epochs is None or isinstance(steps.value, bool) or isinstance(epochs.value, bool):
        return
    if (
        isinstance(steps.value, int)
        and isinstance(epochs.value, int | float)
        and steps.value > 0
        and epochs.value > 1
    ):
        yield RULE.at(steps, steps=steps.value, epochs=epochs.value)
