from importlib.util import find_spec

import pytest
import torch

from tests.model.test_attention_varlen import check_empty_segments, check_errors
from trimtab.model.attention_flash4 import attend_flash4

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.skipif(find_spec("flash_attn") is None, reason="needs the package flash-attn-4"),
]


@pytest.mark.parametrize("longest", [64, 700])
@pytest.mark.parametrize("causal", [False, True])
def test_it_errs_no_more_than_padded_rows_in_the_same_precision(causal, longest):
    check_errors(attend_flash4, causal=causal, longest=longest)


def test_empty_segments_and_a_filled_tail_give_finite_gradients_and_change_nothing():
    check_empty_segments(attend_flash4)
