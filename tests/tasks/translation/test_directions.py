"""The data of a modular model by direction."""

import numpy as np

from tests.model.modular.test_modular import NAMES, window_of
from trimtab.tasks.translation.directions import split_by_direction


def test_a_window_is_divided_without_loss_and_in_order() -> None:
    window = window_of([(2, 3, 1), (4, 1, 0), (1, 1, 1), (5, 2, 3)])
    parts = list(split_by_direction(window, NAMES))
    assert [name for name, _, _ in parts] == [NAMES[1], NAMES[0], NAMES[3]]
    assert sorted(np.concatenate([chosen for _, chosen, _ in parts]).tolist()) == [0, 1, 2, 3]
    assert sum(part.num_targets for _, _, part in parts) == window.num_targets
    first = parts[0][2]
    assert first.target.row(1).tolist() == window.target.row(2).tolist()
    assert first.line.tolist() == [0, 2]
