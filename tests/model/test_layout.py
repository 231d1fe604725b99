from tests.streams import stream_of
from trimtab.model.layout import layout_of


def test_places_and_real_slots_agree_with_the_segments():
    layout = layout_of(stream_of([[1, 1, 1], [1], [1, 1]], longest=4), padded=True)
    assert layout.places.tolist() == [0, 1, 2, 4, 8, 9]
    assert layout.real.sum(1).tolist() == [3, 1, 2]
    assert layout.real.flatten().nonzero().flatten().tolist() == layout.places.tolist()


def test_a_layout_for_packed_kernels_holds_boundaries_only():
    layout = layout_of(stream_of([[1, 1], [1]]), padded=False)
    assert layout.places is None
    assert layout.real is None
    assert layout.boundaries.tolist() == [0, 2, 3]
