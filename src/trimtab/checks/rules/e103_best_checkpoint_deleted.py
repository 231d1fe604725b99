"""E103 best-checkpoint-deleted"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.own_key import is_unset, own_value
from trimtab.checks.pushed import is_pushed
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_YAML = (
    "data:\n  corpus_1: {{path_src: train.en, path_tgt: train.de}}\n"
    "  valid: {{path_src: dev.en, path_tgt: dev.de}}\nsave_model: out/model\nencoder_type: transformer\n"
    "decoder_type: transformer\nhidden_size: 512\nword_vec_size: 512\nposition_encoding: true\n"
    "batch_type: tokens\nbatch_size: 4096\nnormalization: tokens\nvalid_steps: 1000\n"
    "save_checkpoint_steps: 1000\nearly_stopping: 5\nkeep_checkpoint: {keep}\n"
)

RULE = Rule(
    code="E103",
    name="best-checkpoint-deleted",
    severity="warning",
    message="only the last {keep} checkpoints are kept, and {reason}",
    why="Only age decides what is kept here. The checkpoint with the best validation is worth more than "
    "the last ones, and is gone when you need it.",
    evidence=(
        Maintainer(
            "https://github.com/OpenNMT/OpenNMT-py/blob/97111d9/onmt/models/model_saver.py",
            "A queue of `keep_checkpoint` files: the oldest is removed with each save, whatever its score.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer_utils.py",
            "`rotate_checkpoints` protects the newest and `best_model_checkpoint`, which exists only where "
            "`metric_for_best_model` or `load_best_model_at_end` is set.",
        ),
        Arithmetic(
            "Training stops P validations after the best one, V steps each; with a save every S steps P * V "
            "// S newer checkpoints exist by then. If these are K or more, the best is deleted."
        ),
    ),
    fix=Fix("{fix}"),
    bad=Example("opennmt.yaml", _YAML.format(keep=3)),
    good=Example("opennmt.yaml", _YAML.format(keep=10)),
    aliases=("TT702",),
    symptoms=("the best checkpoint is gone", "over-fitted at the end"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where patience outlasts what is kept, and where a Trainer is not told what is best."""
    if run.tool in ("opennmt", "eole"):
        yield from _of_toolkits(run)
    elif run.tool in ("transformers", "trl", "llamafactory"):
        yield from _of_trainer(run)


def _of_toolkits(run: Description) -> Iterator[Diagnosis]:
    block = "training." if run.tool == "eole" else ""
    patience = own_value(run, f"{block}early_stopping")
    keep = run.setting("keep_checkpoints")
    every, saves = run.value("eval_steps"), run.value("save_steps")
    if type(patience) is not int or patience <= 0 or keep is None or not every or not saves or saves < 0:
        return
    newer = int(patience * every // saves)
    if newer >= keep.value:
        reason = (
            f"training stops {patience} validations after the best one, when {newer} newer ones are saved"
        )
        yield RULE.at(keep, keep=keep.value, reason=reason, fix=f"set `{keep.key}` above {newer}")


def _of_trainer(run: Description) -> Iterator[Diagnosis]:
    keep, strategy = run.setting("keep_checkpoints"), run.setting("eval_strategy")
    if (
        keep is None
        or strategy is None
        or not strategy.is_written
        or strategy.value not in ("steps", "epoch")
    ):
        return
    if is_pushed(run) or _keeps_all(run, keep.value):
        return
    names = ("load_best_model_at_end", "metric_for_best_model")
    if all(is_unset(run, name) or own_value(run, name) is False for name in names):
        reason = "the Trainer is not told which evaluation is best"
        fix = "set `load_best_model_at_end: true`, with `metric_for_best_model` where it is not the loss"
        yield RULE.at(keep, severity="note", keep=keep.value, reason=reason, fix=fix)


def _keeps_all(run: Description, keep: int) -> bool:
    """Whether the run ends before anything is deleted."""
    strategy, epochs, steps = run.value("save_strategy"), run.value("epochs"), run.value("steps")
    every = run.value("save_steps")
    if strategy == "epoch" and steps is None:
        return epochs is not None and epochs <= keep
    # With the last step one more is saved.
    return bool(strategy == "steps" and steps and every and every >= 1 and steps <= keep * every)
