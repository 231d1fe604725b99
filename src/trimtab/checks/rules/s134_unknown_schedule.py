"""S134 unknown-schedule"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import SetValue
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="S134",
    name="unknown-schedule",
    severity="error",
    message="`lr_scheduler: {value}` is known neither to Axolotl nor to transformers{meant}",
    why="Axolotl takes any text here and hands it to transformers, which stops at a name that it does not "
    "know, after the data are prepared.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/builders/base.py",
            "_configure_scheduler takes one_cycle and rex as its own and hands on every other text as "
            "lr_scheduler_type.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_utils.py",
            "SchedulerType is an enumeration of twelve names: any other text raises.",
        ),
    ),
    fix=Fix("write one of cosine, linear, constant, constant_with_warmup, rex, one_cycle{example}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nlr_scheduler: cosin\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nlr_scheduler: cosine\n",
    ),
    aliases=("TT802",),
    symptoms=("is not a valid SchedulerType",),
)

KNOWN = (
    "linear cosine cosine_with_restarts polynomial constant constant_with_warmup inverse_sqrt "
    "reduce_lr_on_plateau cosine_with_min_lr cosine_warmup_with_min_lr warmup_stable_decay greedy one_cycle "
    "rex"
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Silent where a plug-in may bring schedules of its own."""
    setting = run.written("lr_scheduler")
    if run.tool != "axolotl" or setting is None or not isinstance(setting.value, str) or not setting.value:
        return
    names = KNOWN.split()
    if setting.value in names or run.written("plugins") is not None:
        return
    from trimtab.checks.nearest import nearest  # only where a name is unknown

    meant = nearest(setting.value, names)
    yield RULE.at(
        setting,
        edits=(SetValue(setting.key, meant),) if meant else (),
        value=setting.value,
        meant=f": did you mean `{meant}`?" if meant else "",
        example=f"; here probably {meant}" if meant else "",
    )
