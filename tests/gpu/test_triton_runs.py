import sys
import warnings
from types import SimpleNamespace

import pytest
import torch

from trimtab.gpu import triton_runs
from trimtab.gpu.triton_runs import triton_runs_on

CUDA = torch.device("cuda", 0)


@pytest.fixture
def card(monkeypatch):
    """A GPU that kernels run on, whatever this machine has; what is changed of it counts from then on."""
    trial = SimpleNamespace(failure_on=lambda device: None)
    monkeypatch.setitem(sys.modules, "trimtab.gpu.trial", trial)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(triton_runs, "find_spec", lambda name: name)
    triton_runs_on.cache_clear()
    yield trial
    triton_runs_on.cache_clear()


def test_a_cpu_runs_none():
    assert not triton_runs_on(torch.device("cpu"))


def test_a_gpu_with_a_working_triton_does(card):
    assert triton_runs_on(CUDA)


def test_a_gpu_without_bfloat16_does_not(card, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not triton_runs_on(CUDA)


def test_nor_does_one_without_triton_or_of_another_maker(card, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert not triton_runs_on(CUDA)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(triton_runs, "find_spec", lambda name: None)
    assert not triton_runs_on(torch.device("cuda", 1))


def test_a_triton_that_fails_is_told_once_and_the_other_kernel_taken(card):
    card.failure_on = lambda device: "RuntimeError: Failed to find C compiler."
    with pytest.warns(UserWarning, match="Failed to find C compiler"):
        assert not triton_runs_on(CUDA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not triton_runs_on(CUDA)


@pytest.mark.gpu
def test_kernels_run_on_this_gpu():
    pytest.importorskip("triton")
    if torch.cuda.get_device_capability(CUDA) < (8, 0):
        pytest.skip("a GPU without bfloat16")
    assert triton_runs_on(CUDA)
