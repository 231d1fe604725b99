"""Folders that somebody else may have made: wrong input, and nothing outside them is read."""

import json
import os
import shutil

import onnx
import pytest
from onnx import TensorProto, helper

from trimtab.errors import InputError
from trimtab.export.onnx.engine import open_onnx
from trimtab.export.onnx.files import DECODER, ENCODER, OPERATORS, check_graphs, check_shapes, read_settings
from trimtab.types import Ragged


@pytest.fixture
def copy(onnx_run, tmp_path):
    return shutil.copytree(onnx_run, tmp_path / "copy")


def changed(folder, change, name=DECODER):
    model = onnx.load(folder / name, load_external_data=False)
    change(model)
    (folder / name).write_bytes(model.SerializeToString())


def refused(folder, message):
    with pytest.raises(InputError, match=message) as caught:
        open_onnx(folder)
    assert caught.value.problems[0].fix


def stored(model):
    return next(each for each in model.graph.initializer if each.external_data)


def at(key, value):
    def change(model):
        for entry in stored(model).external_data:
            if entry.key == key:
                entry.value = value

    return change


def test_what_an_export_wrote_is_let_through(onnx_run):
    graphs = check_graphs(onnx_run, read_settings(onnx_run))
    used = {node.op_type for model in graphs.values() for node in model.graph.node}
    assert used <= OPERATORS
    assert check_shapes(onnx_run, graphs, {}) == check_shapes(onnx_run, graphs, {"layers": 1})


@pytest.mark.parametrize(
    "location", ["../secret", "/etc/passwd", "encoder.onnx", "", "model.onnx.data/../../secret"]
)
@pytest.mark.parametrize("name", [ENCODER, DECODER])
def test_weights_in_any_other_file_are_refused(copy, location, name):
    (copy.parent / "secret").write_bytes(b"x" * 2**20)
    changed(copy, at("location", location), name)
    refused(copy, "in ")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("offset", "-64"),
        ("offset", "9" * 30),
        ("offset", "0x40"),
        ("offset", "99999999"),
        ("length", "8"),
        ("offset", ""),
    ],
)
def test_weights_outside_their_file_or_of_another_size_are_refused(copy, key, value):
    changed(copy, at(key, value))
    refused(copy, " at ")


def test_a_further_word_on_where_a_tensor_stands_is_refused(copy):
    changed(copy, lambda model: stored(model).external_data.add(key="checksum", value="1"))
    refused(copy, "in 'model.onnx.data'")


def foreign_operator(model):
    model.graph.node.append(helper.make_node("Run", ["tokens"], ["x"], domain="com.example"))
    model.opset_import.append(helper.make_opsetid("com.example", 1))


def foreign_domain(model):
    model.graph.node[0].domain = "com.microsoft"


def unknown_operator(model):
    model.graph.node.append(helper.make_node("NonZero", ["tokens"], ["x"]))


def graph_within(model):
    inner = helper.make_graph([], "inner", [], [])
    model.graph.node.append(helper.make_node("Cast", ["tokens"], ["x"], body=inner))


def tensor_within(model):
    tensor = TensorProto(name="t", data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../secret")
    model.graph.node.append(helper.make_node("Cast", ["tokens"], ["x"], value=tensor))


def function(model):
    model.functions.append(
        helper.make_function("com.example", "Cast", ["a"], ["b"], [], [helper.make_opsetid("", 17)])
    )


def sparse(model):
    model.graph.sparse_initializer.add()


def text_weights(model):
    stored(model).data_type = TensorProto.STRING


def endless(model):
    stored(model).dims[0] = 2**40


def no_nodes(model):
    del model.graph.node[:]


def another_opset(model):
    model.opset_import[0].version = 9


@pytest.mark.parametrize(
    "change",
    [
        foreign_operator, foreign_domain, unknown_operator, graph_within, tensor_within, function, sparse,
        text_weights, endless, no_nodes, another_opset,
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [ENCODER, DECODER])
def test_what_no_export_writes_is_refused(copy, change, name):
    changed(copy, change, name)
    refused(copy, "not a graph of this export")


def lose_an_output(model):
    del model.graph.output[-1]


def other_heads(model):
    for each in model.graph.output[:-1]:
        each.type.tensor_type.shape.dim[1].dim_value = 5


def one_more_input(model):
    model.graph.input.append(helper.make_tensor_value_info("more", TensorProto.FLOAT, [1]))


@pytest.mark.parametrize("change", [lose_an_output, other_heads, one_more_input])
def test_graphs_with_other_inputs_and_outputs_are_refused(copy, change):
    changed(copy, change)
    with pytest.raises(InputError, match="not a graph of this export"):
        open_onnx(copy, expected={"kv_heads": 2})


def test_ids_that_the_graphs_have_no_row_for_are_wrong_input_and_no_traceback(onnx_run, capfd):
    """As where a vocabulary is not that of the graphs."""
    engine = open_onnx(onnx_run)
    with pytest.raises(InputError, match="cannot compute a graph of the export"):
        engine.log_probabilities(Ragged.of([[5000, 3]]), Ragged.of([[7, 3]]))
    assert capfd.readouterr().err == ""


def test_a_graph_that_is_cut_off_anywhere_is_wrong_input(copy):
    whole = (copy / DECODER).read_bytes()
    for size in (0, 1, 7, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        (copy / DECODER).write_bytes(whole[:size])
        refused(copy, "decoder.onnx: not a graph of this export")
    (copy / DECODER).write_bytes(b"\xff" * 400)
    refused(copy, "decoder.onnx: not a graph of this export")


def test_weights_that_are_cut_off_are_wrong_input(copy):
    os.truncate(copy / "model.onnx.data", 100)
    refused(copy, "in a file of 100")


@pytest.mark.parametrize("name", ["model.onnx.data", ENCODER, DECODER, "onnx.json"])
def test_links_out_of_the_folder_and_missing_files_are_wrong_input(copy, name):
    outside = copy.parent / name
    (copy / name).rename(outside)
    refused(copy, "No such file")
    (copy / name).symlink_to(outside)
    refused(copy, "a link that leaves the folder")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("weights", "int4"),
        ("opset", 9),
        ("opset", True),
        ("largest", 255),
        ("start", -1),
        ("end", True),
        ("pad", "0"),
    ],
)
def test_settings_that_no_export_has_are_wrong_input(copy, key, value):
    said = json.loads((copy / "onnx.json").read_text())
    (copy / "onnx.json").write_text(json.dumps({**said, key: value}))
    refused(copy, f"{key} is not as an export writes it")
    del said[key]
    (copy / "onnx.json").write_text(json.dumps(said))
    refused(copy, f"{key} is not as an export writes it")
