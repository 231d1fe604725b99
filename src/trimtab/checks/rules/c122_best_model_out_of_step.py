"""C122 best-model-out-of-step"""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import is_unset, own
from trimtab.checks.read.flow.trainers import trainers
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting

RULE = Rule(
    code="C122",
    name="best-model-out-of-step",
    severity="error",
    message="load_best_model_at_end {says}: the run does not start",
    why="The best model can only be loaded if there is a checkpoint for each evaluation, so the trainer asks "
    "that both come at the same steps.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/training_args.py",
            '_validate_args: "--load_best_model_at_end requires the save and eval strategy to match", and '
            '"requires the saving steps to be a round multiple of the evaluation steps".',
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "load_best_model_at_end": true, '
        '"eval_strategy": "steps", "eval_steps": 500, "save_strategy": "steps", "save_steps": 750}',
    ),
    good=Example(
        "args.json",
        '{"output_dir": "out", "per_device_train_batch_size": 8, "load_best_model_at_end": true, '
        '"eval_strategy": "steps", "eval_steps": 500, "save_strategy": "steps", "save_steps": 1000}',
    ),
    symptoms=(
        "requires the save and eval strategy to match",
        "requires the saving steps to be a round multiple",
        "KeyError: 'eval_loss'",
        "KeyError: 'eval_accuracy' with metric_for_best_model",
        "metric_for_best_model is not in the metrics",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """For the tools that hand these keys to transformers as they are."""
    best = run.setting("load_best")
    if run.tool not in ("transformers", "trl", "llamafactory") or best is None or best.value is not True:
        return
    yield from _of_one_set(run, best)
    evaluate, save = run.value("eval_strategy"), run.value("save_strategy")
    if evaluate is None or save is None or save == "best":
        return
    if evaluate != save:
        yield RULE.at(
            best,
            says=f"with evaluation by {evaluate} and saving by {save}",
            fix=f"set `save_strategy: {evaluate}`" if evaluate != "no" else f"set `eval_strategy: {save}`",
        )
        return
    every, saved = run.value("eval_steps"), run.value("save_steps")
    if evaluate == "steps" and every and saved and min(every, saved) >= 1 and saved % every:
        yield RULE.at(
            best,
            says=f"with saving every {saved:g} steps, which is no multiple of {every:g}, the steps between "
            f"evaluations",
            fix=f"make `save_steps` a multiple of {every:g}",
        )


_WHOLE = ("loss", "eval_loss")


def _of_one_set(run: Description, best: Setting) -> Iterator[Diagnosis]:
    """With several evaluation sets the metrics are named after them: there is no plain `eval_loss` to choose by."""
    metric = own(run, "metric_for_best_model")
    if metric.value not in _WHOLE if metric is not None else not is_unset(run, "metric_for_best_model"):
        return
    sets = _named_sets(run)
    if sets:
        yield RULE.at(
            metric or best,
            says=f"chooses by eval_loss, but with {len(sets)} evaluation sets the metrics are eval_{sets[0]}_loss "
            f"and so on",
            fix=f"set `metric_for_best_model: eval_{sets[0]}_loss`",
        )


def _named_sets(run: Description) -> list[str]:
    listed = run.written("eval_dataset") if run.tool == "llamafactory" else None
    if listed is not None:
        value: Any = listed.value
        names = cast("list[Any]", value if isinstance(value, list) else str(value).split(","))
        return [str(name).strip() for name in names] if len(names) > 1 else []
    for trainer in trainers(run):
        held = trainer.value.keywords.get("eval_dataset")
        if held is not None and held.made == "dict" and held.keywords and not held.args:
            return list(held.keywords)
    return []
