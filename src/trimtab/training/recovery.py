"""The loop, with everything from which a run can recover by itself."""

from trimtab.build import Parts
from trimtab.flow import TrainState
from trimtab.training.record import Recorder
from trimtab.training.settle import Spoilt, rewind
from trimtab.training.train import train


def train_with_recovery(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Trains to the end, from a healthy checkpoint again each time that the weights are found spoilt.

    Raises RunFailed where the run was rewound too often, or has nothing to go back to.
    """
    while True:
        try:
            return train(parts, state, recorder)
        except Spoilt as error:
            # Without the traceback, whose frames hold a window and its packs.
            spoilt = error.with_traceback(None)
        state = rewind(parts, spoilt, recorder)
        del spoilt
