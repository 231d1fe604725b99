"""The loop, with everything from which a run can recover by itself."""

from trimtab.build import Parts
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import RunFailed, is_out_of_memory, ran_out
from trimtab.training.diverged import ended_diverged
from trimtab.training.preflight.memory import planned_fix
from trimtab.training.record import Recorder
from trimtab.training.rollback import Spoilt, rewind
from trimtab.training.train import train
from trimtab.types import TrainState


def train_with_recovery(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Trains to the end, from a healthy checkpoint again each time that the weights are found damaged.

    Raises RunFailed if the run was rewound too often, has nothing to go back to, or where memory runs out.
    """
    while True:
        try:
            ended = train(parts, state, recorder)
            told = any(finding.code == "S908" for finding in recorder.findings.current)
            # A run that was stopped at its last step has not been looked at yet.
            if not recorder.stops and (ended.step > state.step or not told):
                look_at_the_end(parts, recorder)
            return ended
        except Spoilt as error:
            # Without the traceback, whose frames hold a window and its packs.
            spoilt = error.with_traceback(None)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            planned = planned_fix(parts.recipe, parts.device, ranks=recorder.ranks.world_size)
            raise RunFailed(out_of_memory(error, step=recorder.findings.step, planned=planned)) from None
        state = rewind(parts, spoilt, recorder)
        del spoilt


def look_at_the_end(parts: Parts, recorder: Recorder) -> None:
    """A finding where the run has ended with damaged weights; what a shorter part of it ended with is over."""
    recorder.findings.look_again_for("S908")
    steps = read_journal(recorder.logger.folder.metrics)
    untrained, name = parts.task.untrained(parts.datasets)
    if finding := ended_diverged(steps, untrained=untrained, name=name):
        recorder.finding(finding)


def out_of_memory(error: Exception, *, step: int, planned: str = "") -> str:
    """The error for memory that ran out in the middle of a run; `planned` is what else would help."""
    if step == 0:
        return (
            f"memory ran out in the first step: {ran_out(error)}\n"
            "  why     the largest batch fitted before the first step, but the first update adds the optimizer states\n"
            f"  fix     {planned or 'lower step.tokens_per_micro_batch, set `step.recompute: block`, or use more GPUs'}"
        )
    return (
        f"memory ran out after step {step}: {ran_out(error)}\n"
        "  why     the largest batch fitted before the first step, so something else has taken the memory since: an "
        "evaluation, or another process\n"
        "  fix     free it, or lower evaluate.beam; then continue with --resume: the last checkpoint holds"
        + (f"\n          or start over: {planned}" if planned else "")
    )
