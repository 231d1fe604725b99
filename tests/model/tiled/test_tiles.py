import pytest

from trimtab.model.tiled.tiles import LONGEST, TILES


@pytest.mark.parametrize("size", TILES)
def test_tiles_are_such_that_tensor_cores_can_multiply_them(size):
    assert size & (size - 1) == 0
    for tile in TILES[size]:
        assert all(side >= 16 and side & (side - 1) == 0 for side in (tile.rows, tile.columns))
        assert tile.warps in (1, 2, 4, 8)
        assert tile.stages >= 1


@pytest.mark.parametrize("size", TILES)
def test_what_a_loop_has_in_flight_fits_into_the_memory_of_the_smallest_cards(size):
    for tile in TILES[size]:
        # Two tensors of rows are kept, two of columns loaded by each stage, two bytes a number.
        assert 2 * 2 * size * (tile.rows + tile.stages * tile.columns) <= 99 * 1024


def test_sentences_are_shorter_than_the_longest_segment_and_whole_documents_are_not():
    assert 128 <= LONGEST < 1024
