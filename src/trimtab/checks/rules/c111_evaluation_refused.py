"""C111 evaluation-refused"""

from collections.abc import Iterator

from trimtab.checks.combination import Combination, found
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="C111",
    name="evaluation-refused",
    severity="error",
    message="{says}: {tool} refuses to start",
    why="The tool checks how evaluation, saving and early stopping fit together, but only after the model's "
    "files are there; what it will refuse can be read from the file.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/utils/schemas/validation.py",
            "check_val_w_test_datasets, check_eval_packing, check_saves, check_evals, check_causal_lm_evals "
            "and check_early_stopping raise ValueError.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/hparams/parser.py",
            '"Please make sure eval_dataset be provided or val_size >1e-6", and the other checks of '
            "get_train_args.",
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nval_set_size: 0.05\n"
        "eval_steps: 100\nevals_per_epoch: 4\n",
    ),
    good=Example(
        "axolotl.yaml",
        "base_model: meta-llama/Llama-3.2-1B\ndatasets:\n  - path: data.jsonl\n    type: alpaca\n"
        "micro_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 0.00002\nval_set_size: 0.05\n"
        "evals_per_epoch: 4\n",
    ),
    symptoms=("ValueError at start", "no evaluation"),
)

_ROWS = {
    "axolotl": (
        Combination(
            "val_set_size test_datasets",
            "`val_set_size` and `test_datasets` are both set",
            "keep one of them",
        ),
        Combination(
            "save_steps save_strategy!=steps",
            "`save_steps` is set, but `save_strategy` is not steps",
            "set `save_strategy: steps` or remove `save_steps`",
        ),
        Combination(
            "saves_per_epoch save_steps",
            "`save_steps` and `saves_per_epoch` are both set",
            "keep one of them",
        ),
        Combination(
            "eval_steps eval_strategy!=steps",
            "`eval_steps` is set, but `eval_strategy` is not steps",
            "set `eval_strategy: steps` or remove `eval_steps`",
        ),
        Combination(
            "eval_steps val_set_size=0|0.0 !test_datasets !eval_strategy=no|false",
            "`eval_steps` is set, but there is no evaluation data (`val_set_size: 0`)",
            "set `val_set_size` above 0, give `test_datasets`, or remove `eval_steps`",
        ),
        Combination(
            "eval_strategy!=no val_set_size=0|0.0 !test_datasets",
            "`eval_strategy` is set, but there is no evaluation data (`val_set_size: 0`)",
            "set `val_set_size` above 0, give `test_datasets`, or remove `eval_strategy`",
        ),
        Combination(
            "evals_per_epoch eval_steps",
            "`eval_steps` and `evals_per_epoch` are both set",
            "keep one of them",
        ),
        Combination(
            "evals_per_epoch eval_strategy!=steps",
            "`evals_per_epoch` is set, but `eval_strategy` is not steps",
            "remove `eval_strategy`",
        ),
        Combination(
            "do_bench_eval !evals_per_epoch !eval_steps",
            "`do_bench_eval` without `evals_per_epoch` or `eval_steps`",
            "set `evals_per_epoch`",
        ),
        Combination(
            "do_causal_lm_eval eval_sample_packing",
            "`do_causal_lm_eval` with `eval_sample_packing`",
            "set `eval_sample_packing: false`",
        ),
        Combination(
            "early_stopping_patience !save_steps",
            "`early_stopping_patience` without `save_steps`",
            "set `save_steps` and `eval_steps`",
        ),
        Combination(
            "early_stopping_patience !eval_steps",
            "`early_stopping_patience` without `eval_steps`",
            "set `save_steps` and `eval_steps`",
        ),
        Combination(
            "save_strategy=best !metric_for_best_model",
            "`save_strategy: best` without `metric_for_best_model`",
            "set `metric_for_best_model: eval_loss`",
        ),
        Combination(
            "eval_table_size sample_packing !eval_sample_packing=false",
            "`eval_table_size` with packed evaluation",
            "set `eval_sample_packing: false`",
        ),
    ),
    "llamafactory": (
        Combination(
            "load_best_model_at_end stage=rm|ppo",
            "`load_best_model_at_end` in a stage that has none",
            "remove `load_best_model_at_end`",
        ),
        Combination(
            "eval_strategy=steps|epoch !eval_dataset !val_size",
            "`eval_strategy` is set, but there is no evaluation data",
            "give `eval_dataset` or a `val_size` above 0",
        ),
        Combination(
            "do_eval !eval_dataset !val_size",
            "`do_eval` without evaluation data",
            "give `eval_dataset` or a `val_size` above 0",
        ),
        Combination(
            "eval_dataset val_size", "`eval_dataset` and `val_size` are both set", "keep one of them"
        ),
        Combination(
            "predict_with_generate stage!=sft",
            "`predict_with_generate` outside of `stage: sft`",
            "remove `predict_with_generate`",
        ),
        Combination(
            "predict_with_generate compute_accuracy",
            "`predict_with_generate` and `compute_accuracy` are both on",
            "keep one of them",
        ),
        Combination(
            "do_predict stage=sft !predict_with_generate",
            "`do_predict` without `predict_with_generate`",
            "set `predict_with_generate: true`",
        ),
    ),
}


def check(run: Description) -> Iterator[Diagnosis]:
    """A table a tool, and the divisibility that early stopping in Axolotl needs."""
    for where, row in found(run, _ROWS.get(run.tool, ())):
        yield RULE.at(where, says=row.says, tool=run.tool, fix=row.fix)
    if run.tool == "axolotl":
        yield from _uneven_early_stopping(run)


def _uneven_early_stopping(run: Description) -> Iterator[Diagnosis]:
    patience, save, evaluate = (
        run.written(key) for key in ("early_stopping_patience", "save_steps", "eval_steps")
    )
    if patience is None or save is None or evaluate is None or not patience.value:
        return
    numbers = (save.value, evaluate.value)
    if (
        all(isinstance(number, int | float) and number > 0 for number in numbers)
        and save.value % evaluate.value
    ):
        yield RULE.at(
            save,
            says=f"`early_stopping_patience` with save_steps {save.value}, which is no multiple of "
            f"eval_steps {evaluate.value}",
            tool=run.tool,
            fix=f"make `save_steps` a multiple of {evaluate.value}",
        )
