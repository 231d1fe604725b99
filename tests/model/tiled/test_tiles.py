import sys
import warnings
from types import SimpleNamespace

import pytest
import torch

from trimtab.model.tiled import tiles
from trimtab.model.tiled.tiles import LONGEST, TILES, tiles_run_on

CUDA = torch.device("cuda", 0)


@pytest.fixture
def card(monkeypatch):
    """A GPU that tiles run on, whatever this machine has; what is changed of it counts from then on."""
    trial = SimpleNamespace(failure_on=lambda device: None)
    monkeypatch.setitem(sys.modules, "trimtab.model.tiled.trial", trial)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(tiles, "find_spec", lambda name: name)
    tiles_run_on.cache_clear()
    yield trial
    tiles_run_on.cache_clear()


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


def test_a_cpu_runs_no_tiles():
    assert not tiles_run_on(torch.device("cpu"))


def test_a_gpu_with_a_working_triton_does(card):
    assert tiles_run_on(CUDA)


def test_a_gpu_without_bfloat16_does_not(card, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not tiles_run_on(CUDA)


def test_nor_does_one_without_triton_or_of_another_maker(card, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert not tiles_run_on(CUDA)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(tiles, "find_spec", lambda name: None)
    assert not tiles_run_on(torch.device("cuda", 1))


def test_a_triton_that_fails_is_told_once_and_the_other_kernel_taken(card):
    card.failure_on = lambda device: "RuntimeError: Failed to find C compiler."
    with pytest.warns(UserWarning, match="Failed to find C compiler"):
        assert not tiles_run_on(CUDA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not tiles_run_on(CUDA)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_tiles_run_on_this_gpu():
    pytest.importorskip("triton")
    if torch.cuda.get_device_capability(CUDA) < (8, 0):
        pytest.skip("a GPU without bfloat16")
    assert tiles_run_on(CUDA)
