"""After repeated skipped steps: accept a shift of the data, or roll back."""

from dataclasses import replace
from functools import partial

from trimtab.build import Parts
from trimtab.checkpoint.journal import cut_back
from trimtab.distributed.agree import any_rank, first_rank_first
from trimtab.errors import RunFailed
from trimtab.finding import Finding
from trimtab.run_findings.steps import NEW_LEVEL_ACCEPTED, REWOUND
from trimtab.training.example_losses import example_losses
from trimtab.training.record import Recorder
from trimtab.training.restore import restore
from trimtab.training.skips import MARGIN, REWIND_WINDOW, Accepted
from trimtab.types import TrainState

WORSE = 1.1
"""Weights are damaged where the loss of an older window is now above so many times what it was when it was learned
from. Learning lowers it, and the look is without dropout, so even an equal loss would be strange."""


class Spoilt(Exception):
    """The weights are worse than they were, so the run must go back; `rollback` raises it through the loop."""

    def __init__(self, state: TrainState, then: Accepted | None, now: float) -> None:
        super().__init__("the weights are damaged")
        self.state = state
        """Where the run is."""
        self.then = then
        """The older step whose window was looked at again."""
        self.now = now
        """Its loss by the present weights."""


def rollback(parts: Parts, state: TrainState, recorder: Recorder) -> None:
    """Decides after many refused steps, from the loss of a window that was learned from some hundred steps ago.

    As low as it was: the weights are well. Outliers then are a new level, which the guard learns; steps that were not
    finite stay refused. Higher: raises Spoilt. Raises RunFailed if so many steps were refused that the run must end.
    """
    skips = recorder.skips
    if skips.budget.over:
        raise RunFailed(ended(recorder, state, "too many steps were skipped"))
    then, now = look_back(parts, recorder)
    worse = then is None or not now <= WORSE * then.loss
    if any_rank(worse, recorder.ranks) or then is None:
        raise Spoilt(state, then, now)
    first, last, broken = skips.unsettled
    if not broken:
        parts.stepper.gate.forget()
        recorder.finding(level_accepted(first=first, last=last, then=then, now=now))
    skips.resolve_streak()


def look_back(parts: Parts, recorder: Recorder) -> tuple[Accepted | None, float]:
    """The oldest accepted step that is remembered, and what the loss of its window is by the present weights."""
    if not recorder.skips.accepted:
        return None, float("nan")
    then = recorder.skips.accepted[0]
    made = parts.stream.host_batches(then.position, step=then.step - 1)
    window, _ = next(made)
    losses = example_losses(parts, window)
    return then, float((losses.loss * losses.targets).sum() / losses.targets.sum())


def rewind(parts: Parts, spoilt: Spoilt, recorder: Recorder) -> TrainState:
    """The state of the newest healthy checkpoint, with everything restored and the steps around the spike left out.

    It is on the disk again, with what is left out, before the first step from it. Raises RunFailed if the run was
    rewound too often already, or where no checkpoint is healthy.
    """
    gone, step = recorder.skips, spoilt.state.step
    onset, last, _ = gone.unsettled
    if not gone.may_rewind(step):
        often = f"it was rewound {gone.config.rewinds} times within {REWIND_WINDOW:,} steps"
        raise RunFailed(ended(recorder, spoilt.state, often if gone.config.rewinds else "guard.rewinds is 0"))
    recorder.checkpointer.collect(raising=False)
    checkpoint = first_rank_first(recorder.ranks, partial(recorder.store.healthy_before, onset - 1))
    since = spoilt.state.origin.get("reset_at", 0)
    if checkpoint is None or checkpoint.step < since:  # those before had other data or settings
        raise RunFailed(ended(recorder, spoilt.state, "there is no healthy checkpoint to go back to"))
    # The clock does not go back: a length in minutes is one of all branches together.
    state = replace(restore(parts, checkpoint), seconds=spoilt.state.seconds)
    if recorder.ranks.world_size > 1:
        recorder.ranks.barrier()  # the first rank removes no checkpoint that another is still reading
    recorder.begin_at(state)
    masked = (onset - MARGIN, last + MARGIN)
    recorder.skips.after_rewind(gone, step=step, masked=masked)
    for journal, newest in recorder.logger.logs_at(state):
        journal.close()
        if recorder.logger.folder.writes:
            cut_back(journal.path, newest)
    recorder.finding(rewound(spoilt, refused=(onset, last), to=state.step, masked=masked))
    state = recorder.save(state)
    recorder.checkpointer.collect(raising=True)
    return state


def ended(recorder: Recorder, state: TrainState, why: str) -> str:
    """The last words of a run that does not continue by itself."""
    skips = recorder.skips
    onset = f"the last ones since step {skips.onset}" if skips.onset else "the last one accepted"
    return (
        f"the run ends at step {state.step}: {why}\n"
        f"  got     {len(skips.budget.refused)} steps refused of the last {skips.budget.window:,}, {onset}; "
        f"rewound {len(skips.rewound)} times\n"
        "  fix     read findings.jsonl and quarantine.jsonl; lower step.optimizer.learning_rate or lengthen the warmup "
        f"and start again, or remove the lines; `trimtab replay RUN --step {skips.onset or state.step}` says "
        f"whether data or state is at fault"
    )


def level_accepted(*, first: int, last: int, then: Accepted, now: float) -> Finding:
    """The data has changed for good."""
    return NEW_LEVEL_ACCEPTED.found(
        f"steps {first} to {last} were skipped; the batch of step {then.step} has a loss of {now:.4g} now, "
        f"{then.loss:.4g} then: the weights are healthy, and the guard adapts to the new level"
    )


def rewound(spoilt: Spoilt, *, refused: tuple[int, int], to: int, masked: tuple[int, int]) -> Finding:
    """The run has gone back."""
    seen = "no step was accepted before"
    if spoilt.then is not None:
        then = spoilt.then
        seen = f"the batch of step {then.step} has a loss of {spoilt.now:.4g} now, {then.loss:.4g} then"
    return REWOUND.found(
        f"steps {refused[0]} to {refused[1]} were skipped, and the weights are worse than before: {seen}; "
        f"the run resumes from the healthy checkpoint of step {to} and leaves out steps {masked[0]} to {masked[1]}"
    )
