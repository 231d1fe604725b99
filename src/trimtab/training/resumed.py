"""What a resumed run keeps: its resolved choices, its logs up to the checkpoint, current findings."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from trimtab.checkpoint.journal import cut_back, read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.corpora import ONE_PATH
from trimtab.config.load import load_recipe
from trimtab.config.resets import Reset
from trimtab.config.run import Recipe
from trimtab.errors import reading
from trimtab.finding import Finding
from trimtab.training.findings import OF_AN_EVALUATION
from trimtab.training.warm_start import may_mean, started_as
from trimtab.types import TrainState

TRAIN_MARK = "recipe.data.train"


def without_paths(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a plain tree, without the paths of what is trained on and begun from: what they hold has
    fingerprints of its own, so that a run continues where its data was moved."""
    tree = recipe.model_dump(mode="json")
    for corpus, written in zip(recipe.data.train, tree["data"]["train"], strict=True):
        files = {*corpus.paths}
        if corpus.kind.source_and_target == "paths":
            files = {"source", "target", *ONE_PATH}
        for key in files | {key.partition(".")[0] for key in corpus.files_beside}:
            written.pop(key, None)
    # What these hold has fingerprints too: `model.sha256`, that of the tokenizer and that of the teacher.
    for part in (tree["model"], tree["data"]["tokenizer"]):
        if part["kind"] in ("pretrained", "transformers", "trocr", "detector"):
            del part["path"]
    if (matching := tree["loss"]["feature_matching"]) is not None:
        del matching["teacher"]
    return tree


def migrate_fingerprints(saved: Mapping[str, str]) -> dict[str, str]:
    """Fingerprints of a checkpoint without the paths of a `dataset` and of a pretrained model that transformers
    computes, which versions before this one counted, so that their runs resume where the folder was moved too."""
    if saved.get("recipe.model.kind") == '"transformers"':
        saved = {name: mark for name, mark in saved.items() if name != "recipe.model.path"}
    if TRAIN_MARK not in saved:
        return {**saved}
    corpora = json.loads(saved[TRAIN_MARK])
    for corpus in corpora:
        if corpus.get("dataset") is not None:
            del corpus["dataset"]
    return {**saved, TRAIN_MARK: json.dumps(corpora, sort_keys=True)}


def current(run: RunFolder, state: TrainState) -> list[Finding]:
    """Errors of the last evaluation: a resumed run with nothing left to do ends as it ended before."""
    keys = Finding.__slots__
    return [
        Finding(**{key: record[key] for key in keys})
        for record in read_journal(run.findings)
        if record.get("step") == state.evaluated
        and record.get("severity") == "error"
        and set(keys) <= set(record)
    ]


def with_chosen_values(recipe: Recipe, run: RunFolder, *, reset: Collection[Reset] = ()) -> Recipe:
    """The recipe with what was chosen when the run began (precision, compile, budgets, warmup), where it leaves them
    open; but for what follows from something that is reset."""
    with reading(run.path):
        if not run.recipe.exists():
            return recipe
    begun = load_recipe(run.recipe).recipe
    recipe, step = _kept_from_start(started_as(recipe, begun), begun), begun.step
    chosen: dict[str, Any] = {}
    budgets = () if "data" in reset else ("tokens_per_micro_batch", "source_tokens_per_micro_batch")
    for key in ("precision", "compile", "cuda_graph", *budgets):
        if getattr(recipe.step, key) in (None, "auto"):
            chosen[key] = getattr(step, key)
    schedule, warmup = recipe.step.schedule, step.schedule.warmup
    same = schedule.kind == step.schedule.kind and "schedule" not in reset
    if "warmup" not in schedule.model_fields_set and same:
        chosen["schedule"] = schedule.model_copy(update={"warmup": warmup})  # may have gone by another length
    return recipe.model_copy(update={"step": recipe.step.model_copy(update=chosen)})


def _kept_from_start(recipe: Recipe, begun: Recipe) -> Recipe:
    """The recipe with what the pretrained weights and the teacher that the run began with are known by, as it has
    recorded it."""
    recipe = _with_teacher_of(recipe, begun)
    model, then = recipe.model, begun.model
    if model.kind != then.kind or not model.pretrained_path or model.pretrained_sha256 is not None:
        return recipe
    known = {key: getattr(then, key) for key in model.kept_from_start}
    return recipe.model_copy(update={"model": model.model_copy(update=known)})


def _with_teacher_of(recipe: Recipe, begun: Recipe) -> Recipe:
    matching, then = recipe.loss.feature_matching, begun.loss.feature_matching
    if matching is None or then is None or matching.sha256 not in (None, then.sha256):
        return recipe
    if matching.teacher != then.teacher and not may_mean(matching.teacher, then.teacher):
        return recipe
    kept = matching.model_copy(update={"teacher": then.teacher, "sha256": then.sha256})
    return recipe.model_copy(update={"loss": recipe.loss.model_copy(update={"feature_matching": kept})})


def newest_line(run: RunFolder) -> dict[str, Any]:
    """The metrics of the last step, empty before the first."""
    line: dict[str, Any] = {}
    for line in read_journal(run.metrics):  # noqa: B007
        pass
    return line


def truncate_logs(run: RunFolder, state: TrainState, *, from_nothing: bool) -> None:
    """Takes out of the logs what a part of the run wrote that died after this state: it will be written again.

    What was seen on a branch that the run has left stays: the steps that damaged it are left out and not taken again.
    """
    cut_back(run.metrics, state.step)
    for log in (run.evaluations, run.samples, run.sentences, run.health):
        cut_back(log, state.evaluated)
    left_out = state.guard.get("masked", ())
    cut_back(run.quarantine, state.step, but=left_out)
    cut_back(run.findings, -1 if from_nothing else state.step, but=left_out)
    cut_back(run.findings, state.evaluated, but=left_out, only=OF_AN_EVALUATION)
