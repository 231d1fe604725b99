"""The parts of a run as a checkpoint has them."""

from trimtab.build import Parts
from trimtab.checkpoint.load import Checkpoint
from trimtab.data.ledger import Ledger
from trimtab.model.lora import load_checkpoint_weights
from trimtab.types import TrainState


def restore(parts: Parts, checkpoint: Checkpoint) -> TrainState:
    """Weights, moments, loss scale, the guard's window, ledger and counters as they were."""
    load_checkpoint_weights(parts.model, checkpoint.load_model())
    parts.stepper.optimizer.load_state_tensors(checkpoint.load_optimizer())
    state = checkpoint.load_state()
    parts.stepper.from_dict(state.guard)
    parts.ledger.corpora[:] = Ledger.from_dict(state.data).corpora
    return state
