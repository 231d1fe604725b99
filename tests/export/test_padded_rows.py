import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.export.padded_rows import batches_of, padded


def test_rows_are_filled_up_behind_their_end():
    ids, real = padded([[5, 6, 7], [8]], pad=1, device=torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]]
    assert real.tolist() == [[True, True, True], [True, False, False]]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 120))
def test_every_row_is_in_one_batch_and_batches_hold_what_fits(lengths, most):
    batches = batches_of(np.array(lengths), batch_tokens=most)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= most
