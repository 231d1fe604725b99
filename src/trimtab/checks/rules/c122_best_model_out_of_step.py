"""C122 best-model-out-of-step"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

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
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """For the tools that hand these keys to transformers as they are."""
    best = run.setting("load_best")
    if run.tool not in ("transformers", "trl", "llamafactory") or best is None or best.value is not True:
        return
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
