import pytest

from tests.streams import stream_of
from trimtab.model import sequence_layout as module
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.tiled.tiles import LONGEST


def test_places_and_real_slots_agree_with_the_segments():
    layout = sequence_layout(stream_of([[1, 1, 1], [1], [1, 1]], max_seqlen=4), padded=True)
    assert layout.places.tolist() == [0, 1, 2, 4, 8, 9]
    assert layout.real.sum(1).tolist() == [3, 1, 2]
    assert layout.real.flatten().nonzero().flatten().tolist() == layout.places.tolist()


def test_a_layout_for_packed_kernels_holds_boundaries_only():
    layout = sequence_layout(stream_of([[1, 1], [1]]), padded=False)
    assert layout.places is None
    assert layout.real is None
    assert layout.cu_seqlens.tolist() == [0, 2, 3]


@pytest.mark.parametrize(("max_seqlen", "tiled"), [(3, True), (LONGEST, True), (LONGEST + 1, False)])
def test_where_tiles_run_it_has_segment_numbers_and_boundaries_unless_segments_may_be_long(
    monkeypatch, max_seqlen, tiled
):
    monkeypatch.setattr(module, "triton_runs_on", lambda device: True)
    layout = sequence_layout(stream_of([[1, 1], [1]], max_seqlen=max_seqlen), padded=False)
    assert (None if layout.spans is None else layout.spans.tolist()) == (
        [0, 0, 1, 0, 2, 3] if tiled else None
    )


@pytest.mark.parametrize(("padded", "runs"), [(True, True), (True, False), (False, False)])
def test_no_spans_are_made_for_padded_rows_or_where_tiles_do_not_run(monkeypatch, padded, runs):
    monkeypatch.setattr(module, "triton_runs_on", lambda device: runs)
    assert sequence_layout(stream_of([[1, 1], [1]]), padded=padded).spans is None
