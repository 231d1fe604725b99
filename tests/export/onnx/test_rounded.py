import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.export.onnx.test_nodes import run
from trimtab.export.byte_products import FULL, REDUCED, largest_weight
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import Rounding, embedded, linear, rounded_rows
from trimtab.export.onnx.store import Store


@given(st.integers(0, 10_000), st.sampled_from([FULL, REDUCED]), st.floats(1e-6, 1e6))
def test_no_weight_is_off_by_more_than_half_a_step_of_its_row(seed, most, size):
    weight = torch.randn(4, 9, generator=torch.Generator().manual_seed(seed)) * size
    whole, scale = rounded_rows(weight, most=most)
    assert whole.dtype == torch.int8
    assert (whole.abs().amax(1) == most).all()
    assert ((whole * scale[:, None] - weight).abs() <= scale[:, None] * 0.5001).all()


def test_a_row_of_zeros_stays_one():
    whole, scale = rounded_rows(torch.zeros(2, 3), most=FULL)
    assert (whole == 0).all()
    assert scale.isfinite().all()


def built(folder, make, dtype=torch.float32, most=None):
    with Store(folder / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17) if most is None else Rounding(store, opset=17, most=most)
        x = nodes.add_input("x", dtype, ["n", 6] if dtype == torch.float32 else ["n"])
        nodes.add_output("y", make(nodes, x), torch.float32, ["n", 4])
    return nodes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("most", "off"), [(None, 1e-6), (FULL, 0.03), (REDUCED, 0.05)])
def test_linear_maps_are_those_of_torch_or_near_them(tmp_path, bias, most, off):
    if most is not None and most > largest_weight():
        pytest.skip("this processor has no VNNI: sums of products of whole bytes spill over")
    torch.manual_seed(1)
    module, asked = nn.Linear(6, 4, bias=bias), torch.randn(7, 6)
    nodes = built(tmp_path, lambda nodes, x: linear(nodes, x, module, "map"), most=most)
    (found,) = run(nodes, tmp_path, x=asked)
    torch.testing.assert_close(found, module(asked).detach(), rtol=0, atol=off)
    assert most is None or not found.equal(module(asked))


@pytest.mark.parametrize(("most", "off"), [(None, 1e-6), (FULL, 0.03), (REDUCED, 0.06)])
def test_embeddings_are_rows_times_the_root_of_the_width(tmp_path, most, off):
    table, ids = torch.randn(9, 4), torch.tensor([8, 0, 3, 3])
    nodes = built(tmp_path, lambda nodes, x: embedded(nodes, x, table, "table"), torch.int64, most)
    (found,) = run(nodes, tmp_path, x=ids)
    torch.testing.assert_close(found, table[ids] * math.sqrt(4), rtol=0, atol=off)


def test_a_tied_output_and_its_table_are_one_tensor(tmp_path):
    """Eight bits would otherwise save nothing where the table is most of the model."""
    table = nn.Linear(4, 50, bias=False)
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Rounding(store, opset=17, most=FULL)
        x = embedded(nodes, nodes.add_input("x", torch.int64, ["n"]), table.weight, "embedding.weight")
        linear(nodes, x, table, "embedding")
    assert set(store.places) == {"embedding.weight.whole", "embedding.weight.scale"}
