"""Passes through DistributedDataParallel are in tests/loops, over two ranks."""

import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.errors import InputError
from trimtab.step.watched_passes import MARK, BackwardWatch, accelerate_steps, is_watchable, runs_through


class Wrapper(DistributedDataParallel):
    """One without a process group, whose forward pass leaves the mark."""

    def __init__(self, sums):
        nn.Module.__init__(self)
        self.require_forward_param_sync, self.sums = True, sums

    def forward(self):
        self.require_forward_param_sync = self.sums


@pytest.mark.parametrize("sums", [True, False])
def test_a_loss_that_does_not_run_through_the_wrapper_is_refused(sums):
    wrapper = Wrapper(sums)
    with runs_through([wrapper]):
        wrapper()
    assert getattr(wrapper, MARK) is sums
    with pytest.raises(InputError, match=r"no DistributedDataParallel was called"), runs_through([wrapper]):
        pass
    assert getattr(wrapper, MARK) is sums


def test_one_of_several_wrappers_is_enough_and_others_are_not_watched(monkeypatch):
    one, other = Wrapper(True), Wrapper(True)
    with runs_through([one, other]):
        other()
    for wrappers in ([], [one, nn.Linear(1, 1)]):
        with runs_through(wrappers):
            pass
    monkeypatch.setattr(DistributedDataParallel, "_active_ddp_module", one)
    with runs_through([one]):
        pass  # Lightning is in its forward pass already
    other._use_python_reducer = True
    assert [is_watchable(each) for each in (one, other)] == [True, False]


def share(steps=1.0):
    return torch.ones((), requires_grad=True) * steps


def test_a_backward_pass_is_heard_and_none_is_refused():
    watch = BackwardWatch(loss := share())
    with pytest.raises(InputError, match="computes no gradients"):
        watch.refuse()
    loss.backward()
    watch.refuse()


def test_accelerate_that_divides_within_a_function_is_refused(monkeypatch):
    state = SimpleNamespace(num_steps=4)

    class GradientState:
        _shared_state = {"num_steps": 4}  # noqa: RUF012

        def __new__(cls):
            return state

    monkeypatch.setitem(sys.modules, "accelerate.state", SimpleNamespace(GradientState=GradientState))
    assert accelerate_steps() == 4
    for factor, refused in ((0.25, True), (1.0, False), (16384.0, False)):
        watch = BackwardWatch(loss := share())
        (loss * factor).backward()
        if refused:
            with pytest.raises(InputError, match=r"gradient_accumulation_steps=4\) within your function"):
                watch.refuse()
        else:
            watch.refuse()
    monkeypatch.delitem(sys.modules, "accelerate.state")
    assert accelerate_steps() == 1
