import pytest
import torch

from tests.gguf_file import side_by_side
from trimtab.errors import InputError
from trimtab.model.gguf_weights import GgufWeights, in_halves, name_of


def test_names_are_those_of_transformers_and_unknown_ones_stay():
    assert name_of("blk.3.ffn_gate.weight") == "model.layers.3.mlp.gate_proj.weight"
    assert name_of("output_norm.weight") == "model.norm.weight"
    assert name_of("blk.3.ffn_gate_exps.weight") == "blk.3.ffn_gate_exps.weight"


def test_rows_of_heads_come_back_in_the_order_of_transformers():
    weight = torch.randn(32, 5)
    assert torch.equal(in_halves(side_by_side("a.q_proj.weight", weight), heads=4), weight)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF and nothing")
    with pytest.raises(InputError, match="not a GGUF file that can be read"):
        GgufWeights.open(path)
