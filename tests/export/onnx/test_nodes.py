import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from trimtab.export.onnx.nodes import IR_VERSIONS, Nodes
from trimtab.export.onnx.store import Store


def run(nodes, folder, **given):
    """What the graph gives; the store is closed by then."""
    (folder / "graph.onnx").write_bytes(nodes.model("graph").SerializeToString())
    onnx.checker.check_model(folder / "graph.onnx", full_check=True)
    session = onnxruntime.InferenceSession(folder / "graph.onnx", providers=["CPUExecutionProvider"])
    return [torch.from_numpy(each) for each in session.run(None, {k: v.numpy() for k, v in given.items()})]


@pytest.fixture
def nodes(tmp_path):
    with Store(tmp_path / "model.onnx.data") as store:
        yield Nodes(store, opset=17)


def test_a_graph_computes_what_its_nodes_say_with_weights_from_the_file(tmp_path):
    weight = torch.rand(3, 2)
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17)
        x = nodes.add_input("x", torch.float32, ["n", 3])
        for _ in range(2):  # a name is one tensor however often it is used
            y = nodes.op("MatMul", x, nodes.weight("w", lambda: weight))
        y = nodes.op("Add", y, nodes.scalar(2.0))
        nodes.add_output("y", y, torch.float32, ["n", 2])
        nodes.add_output("y16", nodes.cast(y, torch.float16), torch.float16, ["n", 2])
    asked = torch.rand(5, 3)
    found, half = run(nodes, tmp_path, x=asked)
    torch.testing.assert_close(found, asked @ weight + 2)
    assert half.equal(found.half())


def test_constants_of_one_value_and_type_are_one(nodes):
    assert nodes.whole(0, 3) == nodes.whole(0, 3)
    assert nodes.whole(0) != nodes.scalar(0, torch.int64), "a list of one is no single number"
    assert nodes.scalar(1.0) != nodes.scalar(1.0, torch.float16)


def test_half_graphs_have_half_constants(tmp_path):
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17, half=True)
        x = nodes.add_input("x", torch.float16, ["n"])
        nodes.add_output("y", nodes.op("Mul", x, nodes.scalar(0.5)), torch.float16, ["n"])
    (found,) = run(nodes, tmp_path, x=torch.tensor([3.0], dtype=torch.float16))
    assert found.dtype == torch.float16
    assert found.item() == 1.5


@pytest.mark.parametrize("opset", IR_VERSIONS)
def test_the_form_of_the_file_is_as_old_as_the_opset(tmp_path, opset):
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=opset)
        nodes.add_output("y", nodes.add_input("x", torch.int64, [1]), torch.int64, [1])
    model = nodes.model("graph")
    assert model.opset_import[0].version == opset
    assert model.ir_version <= onnx.helper.find_min_ir_version_for(model.opset_import)
    assert run(nodes, tmp_path, x=torch.tensor([np.iinfo(np.int64).max]))[0].item() == np.iinfo(np.int64).max
