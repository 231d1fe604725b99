"""Evaluation, checkpoints and logs of TrainingArguments."""

from trimtab.checks.kinds.concept_map import Concepts, put, put_each
from trimtab.checks.kinds.written import Written


def put_evaluation(concepts: Concepts, written: Written) -> None:
    """Tells when it evaluates, and how it decodes then."""
    old = written.settings.get("evaluation_strategy")
    strategy = (
        old if old is not None and "eval_strategy" not in written.settings else written.get("eval_strategy")
    )
    put(concepts, "eval_strategy", strategy)
    if strategy is not None and strategy.value == "steps":
        steps = written.get("eval_steps")
        # Without a number it takes that of the log.
        put(
            concepts,
            "eval_steps",
            steps if steps and steps.value else written.get("logging_steps") if steps else None,
        )
    put_each(
        concepts, written, {"predict_with_generate": "predict_with_generate", "beam": "generation_num_beams"}
    )


def put_saving(concepts: Concepts, written: Written) -> None:
    """Tells when it saves, what it keeps, and what the log leaves out."""
    put_each(
        concepts,
        written,
        {
            "save_strategy": "save_strategy",
            "load_best": "load_best_model_at_end",
            "nan_filter": "logging_nan_inf_filter",
            "output_dir": "output_dir",
        },
    )
    if concepts.get("save_strategy") and concepts["save_strategy"].value == "steps":
        put(concepts, "save_steps", written.get("save_steps"))
    limit = written.get("save_total_limit")
    if limit is not None and isinstance(limit.value, int) and limit.value > 0:
        put(concepts, "keep_checkpoints", limit)
