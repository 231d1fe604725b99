import numpy as np
import onnxruntime
import pytest
from PIL import Image

from trimtab.config.images import ImageConfig
from trimtab.config.vision_model import VisionModel
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.tasks.images.feed import joined
from trimtab.tasks.images.pixels import fitted, padded, to_row
from trimtab.tasks.recognition.batches import BatchShape, cut
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.onnx_graph import image_graph
from trimtab.types import Ragged

ARMS = {
    "registers and factors": {"registers": 3, "positions": "factorised", "norm": "rms"},
    "linear patches and sines": {"stem": "patch", "positions": "sinusoidal", "activation": "swiglu"},
    "shared heads": {"heads": 4, "kv_heads": 2, "bias": False, "activation": "relu"},
    "several rows": {"patch": (8, 4), "activation": "geglu"},
}


@pytest.mark.quick("registers and factors", "several rows")
@pytest.mark.parametrize("arm", ARMS)
def test_each_shape_of_the_model_gives_the_log_probabilities_of_the_trainer(arm, tmp_path):
    settings = {
        "dim": 8,
        "heads": 2,
        "layers": 2,
        "feed_forward": 16,
        "decoder_layers": 1,
        "patch": (32, 4),
        **ARMS[arm],
    }
    config, images = VisionModel.model_validate(settings), ImageConfig(size=32, max_width=128)
    grid = (32 // config.patch[0], 128 // config.patch[1])
    model = LineReader(config, num_ids=9, channels=1, grid=grid, max_positions=16, seed=1).eval()
    session = session_of(model, images, tmp_path)
    draw = np.random.default_rng(1)
    for size in ((32, 128), (20, 45), (64, 400)):
        pixels = draw.integers(0, 256, (*size, 1), np.uint8)
        (found,) = session.run(["log_probabilities"], {"image": pixels})
        (batch,) = batches_of(pixels, images, config)
        expected = model.column_logits(batch, model.read(batch.patches)).log_softmax(1).detach().numpy()
        assert found.shape == expected.shape
        assert found == pytest.approx(expected, abs=1e-5)


def session_of(model, images, folder):
    """The graph with its weights."""
    with Store(folder / "weights") as store:
        graph = image_graph(Nodes(store, opset=18), model, images)
    (folder / "graph.onnx").write_bytes(graph.SerializeToString())
    return onnxruntime.InferenceSession(folder / "graph.onnx", providers=["CPUExecutionProvider"])


def batches_of(pixels, images, config):
    """The image as the trainer reads it."""
    row = to_row(padded(fitted(Image.fromarray(pixels[..., 0]), images), config.multiple))
    shape = BatchShape(
        patch=config.patch, num_batches=1, columns=64, rows=32 // config.patch[0], examples=1, characters=16,
        widest=32, longest=1, fixed=False, sort=False,
    )  # fmt: skip
    return cut(joined([row]), Ragged.of([[3]]), shape, start=2)
