import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

from trimtab.export.onnx.store import LINE, PAGE, Store, onnx_type


def test_a_name_is_written_once_and_every_tensor_stands_where_it_can_be_mapped(tmp_path):
    small, large = torch.arange(5, dtype=torch.float16), torch.rand(40, 40)
    with Store(tmp_path / "data") as store:
        first = store.put("small", lambda: small)
        second = store.put("large", lambda: large)
        assert store.put("small", lambda: pytest.fail("made twice")) == first
    content = (tmp_path / "data").read_bytes()
    assert first.offset % LINE == 0
    assert second.offset % PAGE == 0
    found = np.frombuffer(content[second.offset :][: second.length], np.float32).reshape(second.shape)
    assert torch.from_numpy(found.copy()).equal(large)
    assert content[: first.length] == small.numpy().tobytes()


def test_what_does_not_lie_in_one_piece_is_written_as_it_reads(tmp_path):
    turned = torch.arange(6).view(2, 3).T.to(torch.int8)
    with Store(tmp_path / "data") as store:
        store.put("turned", lambda: turned)
    assert list((tmp_path / "data").read_bytes()) == [0, 3, 1, 4, 2, 5]


def test_weights_beyond_two_gigabytes_are_found_there(tmp_path):
    """The file is one hole up to the tensor, so it takes no room on the disk."""
    weight = torch.rand(3, 4)
    with Store(tmp_path / "data", first=2**31 + 5) as store:
        place = store.put("weight", lambda: weight)
        assert place.offset > 2**31
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
            for name, size in (("x", 3), ("y", 4))
        )
        node = helper.make_node("MatMul", ["x", "weight"], ["y"])
        graph = helper.make_graph([node], "large", [x], [y], [store.described("weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "large.onnx").write_bytes(model.SerializeToString())
    assert (tmp_path / "data").stat().st_size > 2**31
    session = onnxruntime.InferenceSession(tmp_path / "large.onnx", providers=["CPUExecutionProvider"])
    asked = torch.rand(2, 3)
    (found,) = session.run(None, {"x": asked.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), asked @ weight)


def test_types_have_their_numbers():
    assert onnx_type(torch.float32) == onnx.TensorProto.FLOAT
    assert onnx_type(torch.int8) == onnx.TensorProto.INT8
