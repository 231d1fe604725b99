"""Here with functions of plain arithmetic in place of kernels, and a clock that says what a test wants."""

import pytest
import torch

from trimtab.model import attention_choice
from trimtab.model.attention_choice import distance, measured, rows_are_faster
from trimtab.model.sequence_layout import SequenceLayout

CUDA = torch.device("cuda")


class OnCuda:
    """Boundaries that claim to be on a GPU."""

    device = CUDA


@pytest.fixture
def asked(monkeypatch):
    """What was measured, which says that rows pay."""
    calls = []
    monkeypatch.setattr(attention_choice, "measured", lambda *given: calls.append(given) or True)
    return calls


def layout(**changes):
    return SequenceLayout(OnCuda(), 2048, None, None)._replace(**changes)


def test_it_is_measured_for_the_length_and_the_heads_at_hand(asked):
    assert rows_are_faster(layout(), heads=16, size=64)
    assert asked == [(CUDA, 2048, 16, 64, False)]


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({"cu_seqlens": torch.zeros(2, dtype=torch.int32)}, 64),  # on a CPU
        ({}, 96),
        ({"spans": torch.zeros(1)}, 64),
        ({"places": torch.zeros(1)}, 64),
    ],
)
def test_nothing_is_measured_where_rows_cannot_be_taken(asked, changes, size):
    assert not rows_are_faster(layout(**changes), heads=16, size=size)
    assert asked == []


def test_deterministic_runs_keep_the_kernel_whose_bits_are_known(asked):
    torch.use_deterministic_algorithms(True)
    try:
        assert not rows_are_faster(layout(), heads=16, size=64)
    finally:
        torch.use_deterministic_algorithms(False)


def test_the_host_does_not_count_so_as_much_is_measured_as_a_pack_holds():
    """With 8 heads of 64 over 16,384 tokens an H200 was found to be faster by the kernel that is launched faster."""
    assert attention_choice.TOKENS >= 32768
    assert attention_choice.HEADS >= 16


def times(monkeypatch, *, rows, flat, wrong=0.0, fails=False):
    """Kernels that are the same function, and how long each of them is said to take."""

    def kernel(name):
        def run(q, k, v, **_):
            if fails and name == "rows":
                raise RuntimeError("no such kernel here")
            return (q * k + v) * (1 + wrong * (name == "rows"))

        return run

    clock = iter([rows, flat])
    monkeypatch.setattr(attention_choice, "TOKENS", 64)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(attention_choice, "attend_full_first", kernel("rows"))
    monkeypatch.setattr(attention_choice, "attend", kernel("flat"))
    monkeypatch.setattr(attention_choice, "milliseconds", lambda _: next(clock))
    return measured.__wrapped__(torch.device("cpu"), 16, 2, 64, False)


def test_the_faster_one_is_taken_if_it_gives_the_same(monkeypatch):
    assert times(monkeypatch, rows=1.0, flat=2.0)
    assert not times(monkeypatch, rows=2.0, flat=1.0)
    assert not times(monkeypatch, rows=1.0, flat=2.0, wrong=0.1)
    assert not times(monkeypatch, rows=1.0, flat=2.0, wrong=torch.nan)
    assert not times(monkeypatch, rows=1.0, flat=2.0, fails=True)


def test_nothing_is_measured_while_a_step_is_recorded(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert not measured.__wrapped__(torch.device("cpu"), 16, 2, 64, False)


def test_a_distance_is_relative_and_infinite_for_what_is_not_finite():
    assert distance(torch.tensor([1.1]), torch.tensor([1.0])) == pytest.approx(0.1, rel=1e-4)
    assert distance(torch.tensor([torch.nan]), torch.tensor([1.0])) == torch.inf
