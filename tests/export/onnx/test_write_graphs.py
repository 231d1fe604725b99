import json
import os

import pytest
import torch

from tests.export.variants import variant
from trimtab.errors import RunFailed, input_error
from trimtab.export.byte_products import FULL, REDUCED
from trimtab.export.onnx import write_graphs as onnx_files
from trimtab.export.onnx.files import OPSETS
from trimtab.export.onnx.nodes import IR_VERSIONS
from trimtab.export.onnx.write_graphs import worst_difference, write_at, write_graphs
from trimtab.inference import load_model

FILES = ["decoder.onnx", "encoder.onnx", "model.onnx.data", "onnx.json"]


@pytest.fixture(scope="module")
def model(trained_run):
    return variant(load_model(str(trained_run), device="cpu"), norm="rms", activation="geglu")


def said(folder):
    return json.loads((folder / "onnx.json").read_text())


@pytest.mark.slow
def test_every_opset_that_is_tried_computes_what_the_trainer_does(model, tmp_path):
    assert set(OPSETS) == set(IR_VERSIONS)
    for opset in OPSETS:
        write_at(model, tmp_path, opset=opset)
        assert 0 < worst_difference(model, tmp_path) < 1e-5


@pytest.mark.slow
def test_the_oldest_that_agrees_is_taken_and_nothing_else_is_left(model, tmp_path):
    write_graphs(model, tmp_path, kind="float32")
    assert sorted(os.listdir(tmp_path)) == FILES
    assert said(tmp_path)["opset"] == OPSETS[0]


def test_opsets_that_differ_or_cannot_be_loaded_are_passed_over(model, tmp_path, monkeypatch):
    real = onnx_files.worst_difference

    def differing(model, folder):
        match said(folder)["opset"]:
            case 17:
                return 0.3
            case 18:
                raise input_error("not a graph")
            case 20:
                return float("nan")
        return real(model, folder)

    monkeypatch.setattr(onnx_files, "worst_difference", differing)
    write_graphs(model, tmp_path, kind="int8")
    assert said(tmp_path)["opset"] == 21
    assert sorted(os.listdir(tmp_path)) == FILES
    monkeypatch.setattr(onnx_files, "OPSETS", OPSETS[:3])
    with pytest.raises(RunFailed, match="no ONNX operator set") as caught:
        write_graphs(model, tmp_path / "..", kind="float32")
    for part in (
        "opset 17: a token differs by 3.0e-01",
        "opset 18: not a graph",
        "opset 20: a token differs by nan",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "here", "largest"),
    [("int8", FULL, FULL), ("int8", REDUCED, REDUCED), ("int8_reduced", FULL, REDUCED)],
)
def test_weights_have_the_range_that_the_processor_allows(model, tmp_path, monkeypatch, kind, here, largest):
    monkeypatch.setattr(onnx_files, "largest_weight", lambda: here)
    write_at(model, tmp_path, opset=17, kind=kind)
    assert (said(tmp_path)["weights"], said(tmp_path)["largest"]) == ("int8", largest)


def test_two_exports_of_one_model_are_the_same_bytes(model, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_at(model, tmp_path / name, opset=17, kind="int8")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_an_export_changes_nothing_of_the_model(model, tmp_path):
    """Quantisers that work in place have damaged the model that they were given."""
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    for kind in ("float32", "float16", "int8", "int8_reduced"):
        write_at(model, tmp_path, opset=17, kind=kind)
    for name, value in model.model.state_dict().items():
        assert torch.equal(value, before[name])


def test_no_graph_holds_weights_so_none_reaches_the_two_gigabytes_of_a_message(model, tmp_path):
    write_at(model, tmp_path, opset=17)
    import onnx

    for name in ("encoder.onnx", "decoder.onnx"):
        graph = onnx.load(tmp_path / name, load_external_data=False).graph
        inside = [each for each in graph.initializer if not each.external_data]
        assert inside
        assert all(len(each.raw_data) <= 64 for each in inside)
