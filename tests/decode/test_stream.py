import torch

from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")


def test_rows_become_segments_with_positions_from_zero():
    stream = stream_of([[7, 8, 9], [5], [6, 4]], CPU)
    assert stream.ids.tolist() == [7, 8, 9, 5, 6, 4]
    assert stream.positions.tolist() == [0, 1, 2, 0, 0, 1]
    assert stream.segments.tolist() == [0, 0, 0, 1, 2, 2]
    assert stream.cu_seqlens.tolist() == [0, 3, 4, 6]
    assert stream.cu_seqlens.dtype == torch.int32
    assert stream.max_seqlen == 3


def test_no_rows_give_an_empty_stream():
    stream = stream_of([], CPU)
    assert stream.ids.tolist() == []
    assert stream.cu_seqlens.tolist() == [0]
    assert stream.max_seqlen == 0
