import numpy as np
import pytest
import torch
from PIL import Image

from trimtab.config.images import ImageConfig
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.tasks.images.pixels import fitted, padded
from trimtab.tasks.recognition.onnx_pixels import resized_pixels

MULTIPLE, PATCH = (32, 16), (32, 4)
SIZES = [
    (50, 700),
    (32, 500),
    (31, 977),
    (33, 4000),
    (2, 2),
    (77, 3),
    (2, 900),
    (300, 41),
    (32, 32),
    (17, 400),
]


@pytest.mark.parametrize(
    "config",
    [ImageConfig(size=32, max_width=256), ImageConfig(fit="longest", size=96, channels="rgb")],
    ids=["height", "longest"],
)
def test_every_pixel_is_that_of_pillow_at_any_size(config, tmp_path):
    session = pixels_session(config, tmp_path)
    draw = np.random.default_rng(1)
    sizes = [*SIZES, *draw.integers(2, 200, (20, 2)).tolist()]
    for height, width in sizes:
        image = draw.integers(0, 256, (height, width, config.num_channels), np.uint8)
        image[: height // 2, : width // 3] = 255
        whole = Image.fromarray(image[..., 0] if config.num_channels == 1 else image)
        expected = padded(fitted(whole, config), MULTIPLE).transpose(2, 0, 1)
        found, rows, columns = session.run(None, {"image": image})
        assert np.array_equal(found, expected), (height, width)
        assert (rows[0] * PATCH[0], columns[0] * PATCH[1]) == expected.shape[1:]


def pixels_session(config, folder):
    """The graph of the pixels alone."""
    import onnxruntime

    with Store(folder / "weights") as store:
        nodes = Nodes(store, opset=18)
        image = nodes.add_input("image", torch.uint8, ["height", "width", config.num_channels])
        found = resized_pixels(nodes, image, config, multiple=MULTIPLE, patch=PATCH)
        nodes.add_output("values", found.values, torch.float32, [config.num_channels, "tall", "wide"])
        nodes.add_output("rows", found.rows, torch.int64, [1])
        nodes.add_output("columns", found.columns, torch.int64, [1])
        model = nodes.model("pixels").SerializeToString()
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
