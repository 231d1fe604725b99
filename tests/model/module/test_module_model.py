import torch

from trimtab.decode.stream import stream_of
from trimtab.model.module.module_model import padded_rows


def test_rows_are_padded_by_their_lengths():
    stream = stream_of([[5, 0, 7], [0]], torch.device("cpu"))
    rows, real, places = padded_rows(stream, 9)
    assert rows.tolist() == [[5, 0, 7], [0, 9, 9]]
    assert real.tolist() == [[True, True, True], [True, False, False]]
    assert rows.flatten()[places].tolist() == stream.ids.tolist()
