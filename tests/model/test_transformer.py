import pytest
import torch

from tests.small_run import small_parts
from tests.streams import pack_of


@pytest.mark.quick("rotary")
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_a_half_copy_is_near_the_model_and_leaves_it_as_it_is(tmp_path, positions):
    model = small_parts(tmp_path, **{"model.positions": positions}).model.eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    half = model.half_precision_copy(torch.bfloat16)
    pack = pack_of([[*range(4, 30), 3], [40, 3]], [[*range(30, 60), 3], [41, 42, 3]])
    with torch.no_grad():
        full = model(pack) @ model.output_matrix.T
        near = half(pack) @ half.output_matrix.T
    assert near.dtype == torch.bfloat16
    assert float((near.float() - full).norm() / full.norm()) < 0.02
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, before[name])
    if positions == "rotary":
        assert half.source_positions.rotary_table().dtype == torch.float32
