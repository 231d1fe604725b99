"""The loop, through everything from which a run can recover by itself."""

from trimtab.build import Parts
from trimtab.flow import TrainState
from trimtab.training.record import Recorder
from trimtab.training.settle import Spoilt, go_back
from trimtab.training.train import train


def train_through(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Trains to the end, from a healthy checkpoint again each time that the weights are found spoilt.

    Raises RunFailed where the run went back too often, or has nothing to go back to.
    """
    while True:
        try:
            return train(parts, state, recorder)
        except Spoilt as error:
            spoilt = error
        state = go_back(parts, spoilt, recorder)
