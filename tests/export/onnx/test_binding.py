import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

from trimtab.export.onnx.binding import TYPES, Bound, run_bound


@pytest.fixture(scope="module")
def session():
    """Appends one column to a matrix of any width."""
    sizes = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, width])
        for name, width in (("past", "n"), ("new", 1), ("present", "n_and_1"))
    ]
    node = helper.make_node("Concat", ["past", "new"], ["present"], axis=1)
    graph = helper.make_graph([node], "append", sizes[:2], sizes[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("width", [0, 1, 3])
def test_a_graph_reads_and_writes_the_beginning_of_buffers_where_they_stand(session, width):
    past, present = torch.arange(10.0), torch.full((12,), -1.0)
    new = torch.tensor([[7.0], [8.0]])
    run_bound(
        session,
        {"past": Bound(past, (2, width)), "new": Bound.of(new)},
        {"present": Bound(present, (2, width + 1))},
    )
    wanted = torch.cat([past[: 2 * width].view(2, width), new], 1)
    assert present[: 2 * width + 2].view(2, width + 1).equal(wanted)
    assert (present[2 * width + 2 :] == -1).all(), "nothing is written behind"


def test_a_tensor_that_does_not_lie_in_one_piece_is_laid_so(session):
    out = torch.empty(2, 4)
    past = torch.arange(6.0).view(3, 2).T
    run_bound(
        session, {"past": Bound.of(past), "new": Bound.of(torch.zeros(2, 1))}, {"present": Bound.of(out)}
    )
    assert out[:, :3].equal(past)


def test_every_type_that_a_graph_has_is_known():
    assert set(TYPES) == {torch.float32, torch.float16, torch.int64, torch.bool}
