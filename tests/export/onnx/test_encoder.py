import onnxruntime
import pytest
import torch

from tests.export.variants import variant
from trimtab.decode.stream import stream_of
from trimtab.export.onnx.encoder import encoder_graph
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.inference import load_model


@pytest.mark.quick("changes0")
@pytest.mark.parametrize("changes", [{}, {"positions": "rotary", "decoder_kv_heads": 2, "decoder_layers": 3}])
def test_it_gives_what_the_trainers_session_keeps_of_the_source(trained_run, tmp_path, changes):
    model = variant(load_model(str(trained_run), device="cpu"), **changes).model
    with Store(tmp_path / "model.onnx.data") as store:
        graph = encoder_graph(Nodes(store, opset=17), model)
    (tmp_path / "encoder.onnx").write_bytes(graph.SerializeToString())
    session = onnxruntime.InferenceSession(tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"])
    for rows in ([[5, 6, 7, 8], [9, 4]], [[12]]):
        real = torch.tensor([[place < len(row) for place in range(len(rows[0]))] for row in rows])
        ids = torch.tensor([[*row, *[0] * (len(rows[0]) - len(row))] for row in rows])
        found = session.run(None, {"ids": ids.numpy(), "real": real.numpy()})
        with torch.inference_mode():
            source = stream_of(rows, torch.device("cpu"))
            session_of_ours = model.open_session(source, rows=len(rows), width=1, max_length=3)
        kept = session_of_ours.caches
        assert len(found) == 2 * len(kept) == 2 * len(model.decoder.blocks)
        for layer, cache in enumerate(kept):
            for place, ours in enumerate((cache.source_keys, cache.source_values)):
                theirs = torch.from_numpy(found[2 * layer + place])
                mask = real[:, None, :, None]  # nobody looks behind the end of a row
                torch.testing.assert_close(theirs * mask, ours * mask, rtol=0, atol=1e-5)
