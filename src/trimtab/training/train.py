"""The training loop, on one page."""

from trimtab.build import Parts
from trimtab.training.record import Recorder
from trimtab.training.rollback import rollback
from trimtab.training.validate import validate
from trimtab.types import TrainState


def train(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Everything that happens between the first update and the last."""
    recipe, due = parts.recipe, parts.clock.due
    recorder.start_clock()
    for window, packs in recorder.timed(parts.stream.batches(state.position, step=state.step)):
        if parts.stop_rule.reached(state) or recorder.stops:
            break
        parts.stepper.begin(state)
        report = parts.stepper.take_step(packs, learning_rate=parts.learning_rate.at(state))
        before, state = state, recorder.after(state, window, packs, report)
        if recorder.unsettled:
            rollback(parts, state, recorder)
        if due(recipe.evaluate.every, before, state):
            state = validate(parts, state, recorder)
        if due(recipe.checkpoint.every, before, state) or state.best.get("step") == state.step:
            state = recorder.save(state)
    if not recorder.stops:
        state = validate(parts, state, recorder)
    return recorder.save(state)
