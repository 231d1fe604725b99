import pytest
import torch

from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_encoder_decoder import build as build_encoder_decoder
from trimtab.types import TrainableModel


@pytest.mark.parametrize("build", [build_decoder, build_encoder_decoder])
def test_both_models_have_all_that_a_run_asks_for(build):
    model: TrainableModel = build()
    members = {name for name in vars(TrainableModel) if not name.startswith("_")} | {
        *TrainableModel.__annotations__
    }
    assert {"kernel", "frozen", "blocks"} <= members
    assert all(hasattr(model, name) for name in members)
    assert len(model.blocks) == len({id(each) for each in model.blocks})
    inside = {id(each) for block in model.blocks for each in block.parameters()}
    hidden = {id(each) for name, each in model.named_parameters() if model.role_of(name) == "hidden"}
    assert hidden <= inside
    assert model.dim == model.output_matrix.shape[1]
    assert model.num_parameters() == sum(each.numel() for each in model.parameters())
    assert type(model.half_precision_copy(torch.bfloat16)) is type(model)
