import pytest

from tests.gpu.triton_here import DEVICE
from trimtab.gpu import trial

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []


def test_nothing_fails_where_triton_works():
    assert trial.failure_on(DEVICE) is None


def test_a_missing_compiler_is_told_in_one_line(monkeypatch):
    class Broken:
        def __getitem__(self, grid):
            raise RuntimeError("Failed to find C compiler.\nPlease specify it via CC.")

    monkeypatch.setattr(trial, "writing_kernel", Broken())
    assert trial.failure_on(DEVICE) == "RuntimeError: Failed to find C compiler."


def test_a_kernel_that_writes_nothing_is_told(monkeypatch):
    monkeypatch.setattr(trial, "writing_kernel", {(1,): lambda place: None})
    assert "did not write" in trial.failure_on(DEVICE)
