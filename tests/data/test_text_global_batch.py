import numpy as np

from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.types import GlobalBatch, Ragged


def test_a_window_counts_targets_and_all_tokens():
    window = TextGlobalBatch(
        Ragged.of([[1, 2], [3]]), Ragged.of([[4, 5, 6], [7]]), np.zeros(2, np.int32), np.arange(2), position=2
    )
    assert isinstance(window, GlobalBatch)
    assert (window.num_targets, window.num_tokens) == (4, 7)
