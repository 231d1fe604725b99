"""P103 label-smoothing-undoes-fused-loss"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="P103",
    name="label-smoothing-undoes-fused-loss",
    severity="warning",
    message="with `label_smoothing_factor` {smoothing} the Trainer calculates the loss itself, and Liger's "
    "fused loss is not used",
    why="The Trainer takes the labels away from the model to smooth them. Without labels the model makes all "
    "logits, which the fused loss was meant to avoid: the memory is that of a run without Liger, and more.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            'compute_loss: `labels = inputs.pop("labels")` where there is a label smoother; it works on the '
            "logits.",
        ),
        Maintainer(
            "https://github.com/linkedin/Liger-Kernel/blob/0fa9798/src/liger_kernel/transformers/model/llama.py",
            '"if in training mode, don\'t materialize logits" holds only where labels are passed.',
        ),
    ),
    fix=Fix("set `label_smoothing_factor: 0`, or switch Liger's loss off and plan memory for the logits"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "use_liger_kernel": true, '
        '"label_smoothing_factor": 0.1}',
    ),
    good=Example(
        "args.json", '{"output_dir": "out", "per_device_train_batch_size": 8, "use_liger_kernel": true}'
    ),
    aliases=("TT806",),
    symptoms=("out of memory", "Liger saves no memory"),
)

_TOOLS = ("transformers", "llamafactory")


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for the Trainer of transformers and what inherits its loss."""
    smoothing = run.setting("label_smoothing")
    if (
        smoothing is not None
        and smoothing.value > 0
        and run.value("fused_loss") == "liger"
        and run.tool in _TOOLS
    ):
        yield RULE.at(smoothing, smoothing=f"{smoothing.value:g}")
