import math

import torch

from tests.export.onnx.test_nodes import run
from trimtab.config.model import EncoderDecoderModel
from trimtab.export.onnx.front import hidden_unless, positions_between, rotary
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.positions.rotary import rotary_table


def test_places_run_from_what_is_remembered_to_before_the_end(tmp_path):
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17)
        ends = [nodes.add_input(name, torch.int64, [1]) for name in ("first", "end")]
        nodes.add_output("y", positions_between(nodes, *ends), torch.int64, ["n"])
    for first, end in ((0, 3), (5, 6), (4, 4)):
        (found,) = run(nodes, tmp_path, first=torch.tensor([first]), end=torch.tensor([end]))
        assert found.tolist() == list(range(first, end))


def test_what_may_not_be_seen_has_minus_infinity_added(tmp_path):
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17)
        seen = nodes.add_input("seen", torch.bool, ["n"])
        nodes.add_output("y", hidden_unless(nodes, seen), torch.float32, ["n"])
    assert run(nodes, tmp_path, seen=torch.tensor([True, False]))[0].tolist() == [0.0, -math.inf]


def test_turns_are_the_rows_of_the_table_in_float32_even_among_half_weights(tmp_path):
    sizes = {"dim": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 8}
    config = EncoderDecoderModel(**sizes, decoder_positions="rotary")
    model = EncoderDecoder(config, num_ids=9, max_positions=8, seed=1)
    table = rotary_table(8, 4, theta=1e4)
    with Store(tmp_path / "model.onnx.data") as store:
        nodes = Nodes(store, opset=17, half=True)
        assert rotary(nodes, "places", model=model, side="source") is None
        places = nodes.add_input("places", torch.int64, ["n"])
        for name, value in zip(
            ("cos", "sin"), rotary(nodes, places, model=model, side="target"), strict=True
        ):
            nodes.add_output(name, value, torch.float32, ["n", 2])
    cos, sin = run(nodes, tmp_path, places=torch.tensor([5, 1]))
    assert torch.cat([cos, sin], 1).equal(table[[5, 1]])
