"""From a recipe to a finished run: folder, data, parts, checkpoint, preflight, loop; what the commands call."""

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from trimtab.build import Parts, build
from trimtab.checkpoint.fingerprints import check_fingerprints, recipe_fingerprints
from trimtab.checkpoint.journal import cut_back, read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.exporting import obstacles
from trimtab.config.load import LoadedRecipe, load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.render import render_recipe
from trimtab.config.run import Recipe
from trimtab.config.written import places_told
from trimtab.errors import InputError, RunFailed, Terminated
from trimtab.finding import Finding
from trimtab.flow import TrainState
from trimtab.progress import Progress, Silent
from trimtab.scoring.scores import bleu_metric
from trimtab.sources import Sources, open_sources
from trimtab.training.findings import OF_AN_EVALUATION
from trimtab.training.preflight import preflight
from trimtab.training.preflight.memory import is_out_of_memory, model_does_not_fit
from trimtab.training.rates import rate_jumps
from trimtab.training.record import Recorder
from trimtab.training.recovery import train_with_recovery
from trimtab.training.restore import restore
from trimtab.training.smoke import overfit
from trimtab.training.warm_start import started_as, warm_start

MAY_CHANGE = (
    "recipe.length",
    "recipe.evaluate",
    "recipe.checkpoint",
    "recipe.export",
    "recipe.guard",
    "recipe.data.workers",
    "recipe.data.valid",
    "recipe.step.compile",
    "recipe.step.cuda_graph",
)
"""What a resumed run may say differently; everything else would make it another run."""

MOMENTS = {"adamw": 2, "stable_adamw": 2, "lion": 1}
"""Tensors of the size of the weights that an optimizer keeps; of the others fewer, or none."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run."""

    run: Path
    state: TrainState
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """No finding of the error level that still holds at the end."""
        return not any(finding.severity == "error" for finding in self.findings)


def train(
    recipe: LoadedRecipe | Path | str,
    *,
    overrides: Sequence[str] = (),
    out: Path | str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Trains what a recipe says into the folder `out` (by default `runs/` and the recipe's name).

    Raises InputError for wrong input or a folder that holds a run (without `resume`), NothingToResume, NoRoom,
    RunFailed where preflight finds an error, Terminated after SIGTERM or Ctrl-C.
    """
    progress = progress or Silent()
    loaded = recipe if isinstance(recipe, LoadedRecipe) else load_recipe(recipe, overrides)
    folder = Path(out) if out is not None else Path("runs") / loaded.path.stem
    with places_told(loaded), RunFolder.open(folder) if resume else RunFolder.create(folder) as run:
        return train_in(run, resolve_paths(loaded), progress=progress)


def without_places(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a plain tree, without the paths of what is trained on: its contents have fingerprints of their own,
    so that a run goes on where its data was moved."""
    tree = recipe.model_dump(mode="json")
    for corpus in tree["data"]["train"]:
        one_file = [key for key in ("pairs", "documents") if corpus[key] is not None]
        for key in one_file or ("source", "target", "text"):
            del corpus[key]
    return tree


def train_in(run: RunFolder, recipe: Recipe, *, progress: Progress) -> RunResult:
    """Trains in an open run folder, from its newest checkpoint where it has one."""
    told: list[Finding] = []
    listeners = [told.append]
    store = CheckpointStore(
        run.checkpoints,
        keep=recipe.checkpoint.keep,
        settling=recipe.guard.healthy_after if recipe.guard.rewinds else 0,
        tell=lambda each: listeners[-1](each),
    )
    checkpoint = store.latest()
    if checkpoint is None:
        # Left by a try that ended early, perhaps of another recipe; it would be taken for this one's.
        shutil.rmtree(run.tokenizer, ignore_errors=True)
    else:
        recipe = as_begun(recipe, run)
    check_metrics(recipe)
    check_exports(recipe)
    sources = open_sources(recipe, tokenizer_folder=run.tokenizer, progress=progress)
    set_arithmetic(recipe)
    parts = built(recipe, sources)
    if checkpoint is None and recipe.model.warm_start is not None:
        warm_start(parts, progress=progress)
    marks = {**recipe_fingerprints(without_places(parts.recipe)), **sources.fingerprints}
    if checkpoint is not None:
        stored = recipe_fingerprints(without_places(load_recipe(run.recipe).recipe))
        check_fingerprints(checkpoint.fingerprints, marks, may_change=MAY_CHANGE, as_read_now=stored)
    run.write_recipe(render_recipe(parts.recipe))
    state = restore(parts, checkpoint) if checkpoint else TrainState()
    lost = newest_line(run).get("step", 0) if checkpoint is None else 0
    forget(run, state, from_nothing=checkpoint is None)
    recorder = Recorder(run, store, parts, progress, marks)
    recorder.begin_at(state)
    recorder.findings.standing = standing(run, state)
    listeners.append(recorder.finding)
    for finding in (*told, *rate_jumps(parts, state, newest_line(run))):
        recorder.finding(finding)
    with stopping(recorder):
        progress.message(describe(parts, state))
        if parts.finished(state):
            progress.message(
                f"nothing to do: the run is at step {state.step}, its length of {recipe.length} is reached"
            )
        if checkpoint is None:
            check_room_for_one(store, parts)
            if lost:
                progress.message(
                    f"no checkpoint is there, so the run begins anew; {lost} steps had been taken"
                )
            run_preflight(parts, recorder)
        try:
            state = train_with_recovery(parts, state, recorder)
        finally:
            recorder.close()
    if recorder.must_stop:
        raise Terminated(f"stopped by a signal after step {state.step}; go on with --resume")
    return RunResult(run.path, state, recorder.findings.standing)


def built(recipe: Recipe, sources: Sources) -> Parts:
    """The parts of the run; RunFailed where there is no memory for the model."""
    try:
        return build(recipe, sources)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunFailed(model_does_not_fit(recipe, error)) from None


def check_room_for_one(store: CheckpointStore, parts: Parts) -> None:
    """NoRoom where not even one checkpoint fits on the disk: told now, and not at the first save."""
    tensors, step = parts.model.state_dict().values(), parts.recipe.step
    weights = sum(each.numel() * each.element_size() for each in tensors)
    moments = 4 * sum(each.numel() for each in tensors)  # in float32, whatever the weights are
    copies = MOMENTS.get(step.optimizer.kind, 0) + (step.ema is not None)
    store.check_room(int(1.1 * (weights + moments * copies)))


def check_metrics(recipe: Recipe) -> None:
    """InputError where a library for a metric is missing: told now, and not at the first evaluation."""
    if "bleu" in recipe.evaluate.metrics:
        for files in recipe.data.valid.values():
            bleu_metric(files.bleu_tokenizer)


def check_exports(recipe: Recipe) -> None:
    """InputError with every key that keeps the model from being exported as `export` says: told before training."""
    found = [
        problem
        for target in recipe.export
        for problem in obstacles(target, model=recipe.model, transforms=recipe.data.transforms)
    ]
    if found:
        raise InputError(*dict.fromkeys(found))


def standing(run: RunFolder, state: TrainState) -> list[Finding]:
    """Errors of the last evaluation: a run that goes on with nothing left to do ends as it ended before."""
    keys = Finding.__slots__
    return [
        Finding(**{key: record[key] for key in keys})
        for record in read_journal(run.findings)
        if record.get("step") == state.evaluated
        and record.get("severity") == "error"
        and set(keys) <= set(record)
    ]


def as_begun(recipe: Recipe, run: RunFolder) -> Recipe:
    """The recipe with what was chosen when the run began (precision, compile, budgets), where it leaves them open."""
    if not run.recipe.exists():
        return recipe
    begun = load_recipe(run.recipe).recipe
    recipe, step = started_as(recipe, begun), begun.step
    chosen: dict[str, Any] = {}
    for key in (
        "precision",
        "compile",
        "cuda_graph",
        "tokens_per_micro_batch",
        "source_tokens_per_micro_batch",
    ):
        if getattr(recipe.step, key) in (None, "auto"):
            chosen[key] = getattr(step, key)
    return recipe.model_copy(update={"step": recipe.step.model_copy(update=chosen)})


def newest_line(run: RunFolder) -> dict[str, Any]:
    """The metrics of the last step, empty before the first."""
    line: dict[str, Any] = {}
    for line in read_journal(run.metrics):  # noqa: B007
        pass
    return line


def forget(run: RunFolder, state: TrainState, *, from_nothing: bool) -> None:
    """Takes out of the logs what a part of the run wrote that died after this state: it will be written again.

    What was seen on a branch that the run has left stays: the steps that spoilt it are left out and not taken again.
    """
    cut_back(run.metrics, state.step)
    for log in (run.evaluations, run.samples, run.health):
        cut_back(log, state.evaluated)
    left_out = state.guard.get("masked", ())
    cut_back(run.quarantine, state.step, but=left_out)
    cut_back(run.findings, -1 if from_nothing else state.step, but=left_out)
    cut_back(run.findings, state.evaluated, but=left_out, only=OF_AN_EVALUATION)


def run_preflight(parts: Parts, recorder: Recorder) -> None:
    """Tells every finding; raises RunFailed where one of them is an error."""
    errors = []
    for finding in preflight(parts):
        recorder.finding(finding)
        errors += [finding] if finding.severity == "error" else []
    if errors:
        raise RunFailed(
            "preflight found what would spoil the run; nothing was trained: "
            + ", ".join(f"{finding.code} {finding.name}" for finding in errors)
        )


def describe(parts: Parts, state: TrainState) -> str:
    """One line on what is about to run."""
    step, where = parts.recipe.step, torch.cuda.get_device_name() if parts.device.type == "cuda" else "CPU"
    kind = f"{parts.precision}, {'compiled' if step.compile == 'on' else 'not compiled'}"
    return (
        f"{parts.model.num_parameters() / 1e6:.1f}M parameters on {where} ({kind}); "
        f"{growing(parts)}{step.tokens_per_step} target tokens a step in {parts.shape.num_packs} packs; "
        f"{parts.sources.feed.mixture.examples_per_epoch} {examples_of(parts)} an epoch; "
        f"peak rate {parts.peak_rate:.2g}; "
        f"length {parts.recipe.length}" + (f"; going on from step {state.step}" if state.step else "")
    )


def examples_of(parts: Parts) -> str:
    """What the stream is made of."""
    return "passages" if any(corpus.has_documents for corpus in parts.sources.corpora) else "pairs"


def growing(parts: Parts) -> str:
    """What steps begin with, where they grow."""
    warmup = parts.recipe.step.batch_warmup
    return f"{warmup.start}, growing to " if warmup else ""


def set_arithmetic(recipe: Recipe) -> None:
    """Products of float32 as they are named, whatever was set before; deterministic kernels only, where the recipe
    asks for them."""
    torch.set_float32_matmul_precision("high" if recipe.step.precision == "tf32" else "highest")
    if recipe.step.deterministic:
        # cuBLAS needs a workspace of its own for each stream, and must know before it begins.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False


def stopping_signals() -> list[signal.Signals]:
    """SIGTERM, Ctrl-C, and a terminal that goes away, unless the process was told to live on without one (nohup)."""
    hang_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGTERM, signal.SIGINT, *hang_up]


@contextmanager
def stopping(recorder: Recorder) -> Iterator[None]:
    """The first SIGTERM or Ctrl-C ends the run after the step at hand, with a checkpoint; the second ends it now."""

    def ask(number: int, frame: FrameType | None) -> None:
        recorder.must_stop = True
        signal.signal(number, signal.SIG_DFL)

    try:
        before = {number: signal.signal(number, ask) for number in stopping_signals()}
    except ValueError:  # not the main thread: whoever owns the process handles its signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def smoke(
    recipe: LoadedRecipe | Path | str, *, overrides: Sequence[str] = (), progress: Progress | None = None
) -> float:
    """Overfits one window for some seconds and gives the last loss; raises RunFailed where it does not fall."""
    loaded = recipe if isinstance(recipe, LoadedRecipe) else load_recipe(recipe, overrides)
    with places_told(loaded):
        return overfit(resolve_paths(loaded), progress=progress or Silent())
