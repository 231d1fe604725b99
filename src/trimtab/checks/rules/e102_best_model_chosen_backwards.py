"""E102 best-model-chosen-backwards"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.edits import AddKey, Edit
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import is_unset, own
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_TOOLS = frozenset({"transformers", "trl", "llamafactory", "axolotl"})
_LOW = r"(^|_)(loss|wer|cer|ter|ppl|perplexity|mae|mse|rmse|eer|nll|bpb|bpc)$"
_HIGH = r"(^|_)(bleu|sacrebleu|chrf|comet|rouge(1|2|l|lsum)?|accuracy|f1|precision|recall|exact_match|mcc)$"
_ARGS = (
    '{{"output_dir": "out", "per_device_train_batch_size": 8, "eval_strategy": "steps", "eval_steps": 500,\n'
    ' "save_steps": 500, "load_best_model_at_end": true, "metric_for_best_model": "wer"{direction}}}'
)

RULE = Rule(
    code="E102",
    name="best-model-chosen-backwards",
    severity="error",
    message="`{metric}` is better {right}, but the best checkpoint is the one where it is {wrong} ({reason})",
    why="The Trainer takes a metric to be better the higher it is, unless its name ends in `loss` or "
    "`greater_is_better` says otherwise. Early stopping and `load_best_model_at_end` then keep the worst "
    "checkpoint.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            '`self.greater_is_better = not self.metric_for_best_model.endswith("loss")` where it is None.',
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/core/builders/causal.py",
            "`if self.cfg.greater_is_better:` passes the key on: false is never passed on.",
        ),
        Maintainer(
            "https://github.com/facebookresearch/fairseq/blob/3d262bb/fairseq/dataclass/configs.py",
            "`maximize_best_checkpoint_metric` is False by default: the lowest value is the best.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("args.json", _ARGS.format(direction="")),
    good=Example("args.json", _ARGS.format(direction=', "greater_is_better": false')),
    symptoms=("best checkpoint is the worst", "stops too early", "best model is bad"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for names of metrics that have one direction, where the direction in force is known."""
    yield from _of_fairseq(run)
    metric = own(run, "metric_for_best_model") if run.tool in _TOOLS else None
    if metric is None or not isinstance(metric.value, str):
        return
    name = metric.value.lower()
    rises = _direction(run, name)
    if rises is None:
        return
    said = own(run, "greater_is_better")
    if rises[0] and re.search(_LOW, name):
        right, wrong, fix = "lower", "highest", "set `greater_is_better: false`"
        if run.tool == "axolotl" and said is not None:
            fix = "choose by `eval_loss`: this tool passes `greater_is_better: false` on to nobody"
    elif not rises[0] and re.search(_HIGH, name):
        right, wrong, fix = "higher", "lowest", "set `greater_is_better: true`, or remove it"
    else:
        return
    where = said if said is not None and said.value is not None else metric
    yield RULE.at(where, metric=metric.value, right=right, wrong=wrong, reason=rises[1], fix=fix)


def _direction(run: Description, name: str) -> tuple[bool, str] | None:
    """Whether higher is taken to be better, and why; None if a value cannot be seen."""
    said = own(run, "greater_is_better")
    by_name = not name.endswith("loss")
    if said is None or said.value is None:
        known = said is not None or is_unset(run, "greater_is_better")
        return (by_name, "the default for this name") if known else None
    if not isinstance(said.value, bool):
        return None
    if run.tool == "axolotl" and not said.value:
        return by_name, "`greater_is_better: false` is not passed on"
    return said.value, f"`greater_is_better: {str(said.value).lower()}`"


def _of_fairseq(run: Description) -> Iterator[Diagnosis]:
    """The lowest value is the best one there, unless another switch says otherwise."""
    if run.tool != "fairseq":
        return
    is_yaml = run.document.syntax == "yaml"
    names = ("best_checkpoint_metric", "maximize_best_checkpoint_metric")
    metric, highest = (
        run.written(f"checkpoint.{name}" if is_yaml else name.replace("_", "-")) for name in names
    )
    if metric is None or not isinstance(metric.value, str):
        return
    rises = highest is not None and highest.value is True
    switch = names[1] if is_yaml else names[1].replace("_", "-")
    if not rises and re.search(_HIGH, metric.value):
        right, wrong, fix = "higher", "lowest", f"set `{switch}`"
    elif rises and re.search(_LOW, metric.value):
        right, wrong, fix = "lower", "highest", f"remove `{switch}`"
    else:
        return
    edits: tuple[Edit, ...] = ()
    if highest is None and is_yaml:
        edits = (AddKey(f"checkpoint.{switch}", True, after=metric.key),)
    reason = f"`{switch}` is {'on' if rises else 'off'}"
    yield RULE.at(metric, edits=edits, metric=metric.value, right=right, wrong=wrong, reason=reason, fix=fix)
