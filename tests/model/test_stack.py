from torch import nn

from tests.model.test_decoder_only import config
from trimtab.model.stack import Stack


def test_a_norm_closes_a_stack_whose_norms_stand_before():
    blocks = [nn.Linear(32, 32) for _ in range(3)]
    assert list(Stack(blocks, config()).blocks) == blocks
    assert isinstance(Stack([], config()).norm, nn.RMSNorm)
    assert isinstance(Stack([], config(norm="layer")).norm, nn.LayerNorm)
    assert isinstance(Stack([], config(norm_position="after")).norm, nn.Identity)
