"""From a recipe to a finished run: folder, data, parts, checkpoint, preflight, loop; what the commands call."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from trimtab.build import Parts
from trimtab.checkpoint.run_folder import RunFolder, is_started
from trimtab.checks.check_recipe import check_recipe
from trimtab.config.given_path import path_text, run_folder
from trimtab.config.load import FROM_DICT, LoadedRecipe, load_recipe
from trimtab.config.parallel import check_processes
from trimtab.config.paths import resolve_paths
from trimtab.config.render import render_recipe
from trimtab.config.resets import Reset, check_resumes, parse_reset
from trimtab.config.run import Recipe
from trimtab.config.written import lines_added
from trimtab.device import choose_device
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.distributed.agree import any_rank, broadcast_from_first
from trimtab.errors import RunFailed, input_error, is_out_of_memory
from trimtab.finding import Finding
from trimtab.progress import Progress, Silent
from trimtab.training.comparison import reset_best_if_data_changed
from trimtab.training.early_checks import (
    check_space_for_checkpoint,
)
from trimtab.training.preflight import preflight
from trimtab.training.preflight.every_check import of_the_data
from trimtab.training.preflight.memory import (
    does_not_start,
    measured_memory,
    planned_memory,
    release_cached_memory,
)
from trimtab.training.preflight.ranks import check_same_on_all
from trimtab.training.prepare import Prepared, prepare
from trimtab.training.rates import rate_jumps
from trimtab.training.record import Recorder
from trimtab.training.recovery import train_with_recovery
from trimtab.training.resets import reset_lines, with_resets
from trimtab.training.restore import restore
from trimtab.training.resumed import (
    current,
    newest_line,
    truncate_logs,
)
from trimtab.training.run_facts import note_beginning, note_end, trained
from trimtab.training.smoke import overfit
from trimtab.training.start_clock import StartClock, take_start_clock
from trimtab.training.stopping import stopped, stopping
from trimtab.types import TrainState
from trimtab.units import counted
from trimtab.world import launched_processes

A_RECIPE = "a recipe, which is a YAML file, or a dict"


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run."""

    run: Path
    state: TrainState
    findings: list[Finding]

    def __repr__(self) -> str:
        best = self.state.best
        scored = f", {best['metric']} {best['value']:g} at step {best['step']}" if best else ""
        return f"RunResult({str(self.run)!r}, step {self.state.step}{scored}, {len(self.findings)} findings)"

    @property
    def ok(self) -> bool:
        """No finding of the error level that still holds at the end."""
        return not any(finding.severity == "error" for finding in self.findings)


def train(
    recipe: LoadedRecipe | Path | str | Mapping[str, Any],
    *,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    out: Path | str | None = None,
    resume: bool | Literal["auto"] = False,
    reset: Collection[Reset] | str = (),
    progress: Progress | None = None,
    ranks: Ranks = ONE_RANK,
) -> RunResult:
    """Trains what a recipe says into the folder `out` (by default `runs/` and the recipe's name).

    Recipe and overrides may be dicts, see `load_recipe`. `resume="auto"` resumes a run that is there and starts one
    where there is none, as a job that is put into its queue again needs it.

    `reset`, with `resume=True`, keeps the weights of the newest checkpoint and starts parts of the run over, whose
    settings may then change: `optimizer` (moments, moving average; loss, clipping and dropout may change),
    `learning_rate` (another peak, with which the schedule continues), `schedule` (schedule and length count from here),
    `data` (another corpus, order or size of steps), `best` (the best evaluation so far). What is kept and what is reset
    is reported, and on the disk before the first step.

    Several `ranks` (see `trimtab.distributed`) train one model: each process makes this call, with the same arguments
    and a folder that all of them reach; the first one writes into it and reports progress.

    Raises InputError for wrong input or a folder that holds a run (without `resume`), NothingToResume, DiskFull,
    RunFailed if `trimtab check` or preflight finds an error, Terminated after SIGTERM, and its subclass Interrupted
    after Ctrl-C.
    """
    clock = take_start_clock()
    if ranks is ONE_RANK:
        refuse_several_processes()
    reset = parse_reset(reset)
    check_resumes(reset, resume=resume)
    progress = (progress or Silent()) if ranks.is_first else Silent()
    if not isinstance(recipe, LoadedRecipe):
        named = (
            Path(FROM_DICT)
            if isinstance(recipe, Mapping)
            else path_text(recipe, name="recipe", allowed=A_RECIPE)
        )
        recipe = load_recipe(recipe, overrides, begun=run_folder(named, out) if resume else None)
    loaded, folder = recipe, run_folder(recipe.path, out)
    fewer = "start at most {} (`--nproc-per-node` times `--nnodes`)"
    check_processes(loaded.recipe, ranks.world_size, option="torchrun", fewer=fewer)
    if resume == "auto":  # as the first rank finds it, which may make the folder before the others look
        resume = bool(ranks.sum_ints([int(ranks.is_first and is_started(folder))])[0])
    found = () if resume and not reset else checked(loaded, progress)
    clock.end("recipe")
    with lines_added(loaded), RunFolder.for_ranks(folder, resume=resume, ranks=ranks) as run:
        for note in () if resume else loaded.notes:
            progress.message(note)
        how: dict[str, Any] = {"reset": reset, "progress": progress, "ranks": ranks}
        return train_in(run, resolve_paths(loaded), found=found, clock=clock, **how)


def refuse_several_processes() -> None:
    """InputError where a launcher has started several processes: each would train a model of its own, in one folder."""
    if (processes := launched_processes()) > 1:
        raise input_error(
            f"train: started as one of {processes} processes, but a run has one",
            got=f"WORLD_SIZE={processes}, which torchrun and `accelerate launch` set",
            allowed="one process, or `ranks` that have joined each other",
            fix="start `torchrun --nproc-per-node N -m trimtab train RECIPE`, which joins them; in a script of your "
            "own pass `ranks` from `trimtab.distributed.torch_ranks.launched_ranks`; or unset WORLD_SIZE where "
            "another program set it",
        )


def checked(loaded: LoadedRecipe, progress: Progress) -> Sequence[Finding]:
    """What `trimtab check` finds in the recipe as it is trained, notes aside; RunFailed where there is an error."""
    found = [finding for finding in check_recipe(loaded) if finding.severity != "note"]
    if errors := [finding for finding in found if finding.severity == "error"]:
        for finding in found:
            progress.finding(finding)
        raise RunFailed(
            "`trimtab check` finds what would spoil the run; nothing was trained: "
            + ", ".join(f"{finding.code} {finding.name}" for finding in errors)
            + f"; to train anyway, {_allowing(loaded, [finding.code for finding in errors])}"
        )
    return found


def _allowing(loaded: LoadedRecipe, codes: Sequence[str]) -> str:
    """How to say that findings are meant so: a dict has no comments."""
    codes = [*dict.fromkeys(codes)]
    if loaded.is_file:
        return f"write `# trimtab: allow {', '.join(codes)} because ...` beside the key"
    reasons = ", ".join(f'"{code}": "because ..."' for code in codes)
    return f"pass `trimtab.load_recipe(recipe, allow={{{reasons}}})` in place of the recipe"


def train_in(
    run: RunFolder,
    recipe: Recipe,
    *,
    reset: Sequence[Reset] = (),
    progress: Progress,
    found: Sequence[Finding] = (),
    ranks: Ranks = ONE_RANK,
    clock: StartClock | None = None,
) -> RunResult:
    """Trains in an open run folder, from its newest checkpoint where it has one; `found` goes into its log, and what
    the start was spent on by `clock`."""
    clock = clock or StartClock()
    try:
        prepared = prepare(run, recipe, reset=reset, progress=progress, ranks=ranks, clock=clock)
        for finding in found:
            prepared.pending.tell(finding)
        state, recorder = begin(prepared)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        told = does_not_start(recipe, error, device=choose_device(), ranks=ranks.world_size)
        raise RunFailed(told) from None
    clock.end("checks")
    if not prepared.parts.stop_rule.reached(state):
        progress.message(str(clock))
    return run_to_the_end(prepared, state, recorder)


def begin(prepared: Prepared) -> tuple[TrainState, Recorder]:
    """Puts the parts and the logs where the run resumes, or at its beginning, where the checks come first.

    Raises RunFailed if a check finds an error, and DiskFull where not one checkpoint fits on the disk.
    """
    run, parts, checkpoint = prepared.run, prepared.parts, prepared.checkpoint
    was_started = run.is_run
    lost = newest_line(run).get("step", 0) if checkpoint is None else 0  # before the logs are cut back
    if run.writes and not prepared.reset:
        run.write_recipe(render_recipe(parts.recipe))
    state, changes = TrainState(), list[Finding]()
    if checkpoint is not None:
        state, marks = restore(parts, checkpoint, reset=prepared.reset), checkpoint.fingerprints
        state, changes = reset_best_if_data_changed(
            parts.recipe, state, before=marks, now=prepared.fingerprints
        )
    if run.writes:
        truncate_logs(run, state, from_nothing=checkpoint is None)
    before = state
    if prepared.reset:
        of_data_before = newest_line(run).get("epoch", math.nan)
        epoch = broadcast_from_first(of_data_before, parts.stepper.ranks)
        state = with_resets(before, prepared.reset, clock=parts.clock, epoch=epoch)
    if told := check_same_on_all(parts, prepared.fingerprints, parts.stepper.ranks):
        prepared.progress.message(told)
    recorder = Recorder(run, prepared.store, parts, prepared.progress, prepared.fingerprints)
    recorder.begin_at(state)
    recorder.findings.current = current(run, state)
    prepared.pending.pass_on_to(recorder.finding)
    for finding in (*changes, *rate_jumps(parts, state, newest_line(run))):
        recorder.finding(finding)
    if prepared.reset:
        commit_reset(prepared, before, state, recorder)
    prepared.progress.message(describe(parts, state))
    if parts.placed is not None:
        prepared.progress.message(parts.placed.about)
    if parts.recipe.freeze:
        prepared.progress.message(f"trained: {'; '.join(map(str, trained(parts)))}")
    if planned := planned_memory(parts):
        prepared.progress.message(planned)
    if parts.stop_rule.reached(state):
        report_already_done(parts, state, recorder)
    if checkpoint is None:
        if parts.recipe.checkpoint.write:
            check_space_for_checkpoint(prepared.store, parts.model, parts.recipe.step)
        if was_started:
            prepared.progress.message(
                f"found no checkpoint, so the run starts again from step 0; it had reached step {lost}"
            )
        note_beginning(run, parts)
        run_preflight(parts, recorder)
    return state, recorder


def commit_reset(prepared: Prepared, before: TrainState, state: TrainState, recorder: Recorder) -> None:
    """Says what is reset and what is kept, checks other data, and commits the state, so that a kill before the next
    checkpoint does not undo it and the run then resumes without `--reset`."""
    parts, reset = prepared.parts, prepared.reset
    last_rate = newest_line(prepared.run).get("learning_rate", math.nan)
    for line in reset_lines(parts, before, state, reset, last_rate=last_rate):
        prepared.progress.message(line)
    if "data" in reset:
        report_checks(of_the_data(parts), recorder)
    if prepared.run.writes:
        prepared.run.write_recipe(render_recipe(parts.recipe))
    recorder.save(state)
    recorder.checkpointer.collect(raising=True)


def run_to_the_end(prepared: Prepared, state: TrainState, recorder: Recorder) -> RunResult:
    """Trains until the run is over; raises Terminated where a signal asks it to stop, after a last checkpoint."""
    parts, was_over = prepared.parts, prepared.parts.stop_rule.reached(state)
    with stopping(recorder) as signals:
        try:
            state = train_with_recovery(parts, state, recorder)
        finally:
            recorder.close()
            if parts.stepper.graphs is not None:
                parts.stepper.graphs.close()
    if recorder.ranks.world_size > 1:
        recorder.ranks.barrier()  # what the first rank has written is there for all
    if recorder.stops:
        raise stopped(signals, state, keeps=parts.recipe.checkpoint.write)
    if parts.stop_rule.ended_early(state) and not was_over:
        prepared.progress.message(f"ended at step {state.step}: {parts.stop_rule.reason(state)}")
    note_end(prepared.run, parts)
    if measured := measured_memory(parts):
        prepared.progress.message(measured)
    return RunResult(prepared.run.path, state, recorder.findings.current)


def report_already_done(parts: Parts, state: TrainState, recorder: Recorder) -> None:
    """Reports that the run is over, and the errors that it ended with."""
    recorder.progress.message(
        f"nothing to do: the run is at step {state.step}, {parts.stop_rule.reason(state)}"
    )
    for finding in recorder.findings.current:
        recorder.progress.finding(finding)


def run_preflight(parts: Parts, recorder: Recorder) -> None:
    """Checks data and model before the first step, see `report_checks`."""
    report_checks(preflight(parts), recorder)
    release_cached_memory(parts.device)


def report_checks(found: Iterable[Finding], recorder: Recorder) -> None:
    """Reports every finding; raises RunFailed if one of them is an error, on this rank or on another."""
    errors = []
    for finding in found:
        recorder.finding(finding)
        errors += [finding] if finding.severity == "error" else []
    if any_rank(bool(errors), recorder.ranks):
        raise RunFailed(
            "preflight found errors; nothing was trained: "
            + (", ".join(f"{each.code} {each.name}" for each in errors) or "another rank says which")
        )


def smoke(
    recipe: LoadedRecipe | Path | str | Mapping[str, Any],
    *,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    progress: Progress | None = None,
) -> float:
    """Overfits one window for some seconds and gives the last loss; raises RunFailed if it does not fall."""
    refuse_several_processes()
    loaded = recipe if isinstance(recipe, LoadedRecipe) else load_recipe(recipe, overrides)
    with lines_added(loaded):
        return overfit(resolve_paths(loaded), progress=progress or Silent())


def describe(parts: Parts, state: TrainState) -> str:
    """One line on what is about to run."""
    step, where = parts.recipe.step, torch.cuda.get_device_name() if parts.device.type == "cuda" else "CPU"
    kind = f"{parts.precision}, {'compiled' if step.compile == 'on' else 'not compiled'}"
    facts, count = parts.recipe.facts, parts.batching.num_batches
    batches = f"{count} {facts.batches[count != 1]}"
    size = counted(step.tokens_per_step, facts.counted.removesuffix("s"), facts.counted)
    return (
        f"{parts.model.num_parameters() / 1e6:.1f}M parameters on {where} ({kind}); "
        f"{batch_warmup_start(parts)}{size} a step "
        f"in {batches}; "
        f"{parts.datasets.epoch_size} an epoch; "
        f"peak learning rate {parts.learning_rate.peak:.2g}; "
        f"length {parts.recipe.length}" + (f"; continuing from step {state.step}" if state.step else "")
    )


def batch_warmup_start(parts: Parts) -> str:
    """What steps begin with, where they grow."""
    warmup = parts.recipe.step.batch_warmup
    return f"{warmup.start}, growing to " if warmup else ""
