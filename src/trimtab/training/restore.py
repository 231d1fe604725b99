"""The parts of a run as a checkpoint has them."""

from collections.abc import Collection

from trimtab.build import Parts
from trimtab.checkpoint.load import Checkpoint
from trimtab.config.resets import Reset
from trimtab.data.ledger import Ledger
from trimtab.model.lora import checkpoint_weights, load_checkpoint_weights
from trimtab.training.resets import check_shapes, kept_by_the_guard
from trimtab.types import TrainState


def restore(parts: Parts, checkpoint: Checkpoint, *, reset: Collection[Reset] = ()) -> TrainState:
    """Weights, moments, loss scale, the guard's window, ledger and counters as they were, but for what is reset, which
    stays as it is at the beginning of a run. The state is that of the checkpoint."""
    if reset:
        check_shapes(parts, checkpoint)
    weights = checkpoint.load_model()
    if parts.sharding is None:
        load_checkpoint_weights(parts.model, weights)
    else:
        own = checkpoint_weights(parts.model)
        parts.sharding.load(own if own.keys() == weights.keys() else parts.model.state_dict(), weights)
    state = checkpoint.load_state()
    # Moments are of the weights that the last step trained.
    parts.stepper.train_weights_of(max(0, state.step - 1))
    if parts.placed is not None:
        parts.placed.train_own()
    # From nothing, a moving average begins with the weights as they are now.
    moments = {} if "optimizer" in reset else checkpoint.load_optimizer()
    moments = moments if parts.placed is None else parts.placed.own_states(moments)
    parts.stepper.optimizer.load_state_tensors(moments)
    parts.stepper.from_dict(kept_by_the_guard(state.guard, reset))
    if "data" not in reset:
        parts.ledger.corpora[:] = Ledger.from_dict(state.data).corpora
    return state
