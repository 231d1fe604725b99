"""C112 schedule-option-without-effect"""

from collections.abc import Iterator

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C112",
    name="schedule-option-without-effect",
    severity="warning",
    message="`{key}` has no effect: {says}",
    why="The key belongs to another schedule than the one that is configured, so the learning rate does "
    "not follow the file, and no message says so.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/utils/optimizers.py",
            "make_learning_rate_decay_fn: learning_rate_decay, decay_steps and start_decay_steps are read by "
            "noamwd and by the step decay of `none` only. Eole and Mammoth have the same function.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/trainers/mixins/scheduler.py",
            "cosine_min_lr_ratio is read where the schedule is cosine (rex counts as cosine); "
            "cosine_constant_lr_ratio only beside it.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nlr_scheduler: linear\n"
        "cosine_min_lr_ratio: 0.1\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nlr_scheduler: cosine\n"
        "cosine_min_lr_ratio: 0.1\n",
    ),
    symptoms=("a setting has no effect", "learning rate does not change as configured"),
)

_DECAY = ("learning_rate_decay", "decay_steps", "start_decay_steps")
_SMOOTH = "noam|rsqrt|cosine|linear_warmup"


def _opennmt_rows(prefix: str = "") -> tuple[Combination, ...]:
    return tuple(
        Combination(
            f"{prefix}{key} {prefix}decay_method={_SMOOTH}",
            "this decay method does not read it",
            f"remove it, or set `{prefix}decay_method: none` for a decay in steps",
        )
        for key in _DECAY
    )


_ROWS: dict[str, tuple[Combination, ...]] = {
    "opennmt": _opennmt_rows(),
    "mammoth": _opennmt_rows(),
    "eole": _opennmt_rows("training."),
    "axolotl": (
        Combination(
            "cosine_min_lr_ratio lr_scheduler!=cosine|rex",
            "only the schedules cosine and rex read it",
            "set `lr_scheduler: cosine`, or remove it",
        ),
        Combination(
            "cosine_constant_lr_ratio !cosine_min_lr_ratio",
            "it is read beside `cosine_min_lr_ratio` only",
            "set `cosine_min_lr_ratio` as well",
        ),
        Combination(
            "cosine_min_lr_ratio lr_quadratic_warmup lr_scheduler=cosine",
            "the quadratic warm-up has a cosine of its own",
            "remove `lr_quadratic_warmup`, or this key",
        ),
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, fix=row.fix)
