from importlib import import_module
from itertools import pairwise

import pytest
import torch

from trimtab.errors import InputError
from trimtab.guard import Guard, OutlierRule

RULE = OutlierRule(window=16, active_from=8)
NOISE_AT = 14


@pytest.fixture(scope="module")
def adapter():
    """Imported late: processes that run other tests need not spend the time that Lightning takes."""
    pytest.importorskip("lightning")
    return import_module("trimtab.adapters.lightning_guard")


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_step_with_an_outlying_loss_changes_no_weight_and_the_run_goes_on(accumulation, adapter):
    from tests.loops.noisy_lightning import fitted

    steps = 20 * accumulation
    module, guard, told = fitted(
        rank=1,
        noise_at=NOISE_AT * accumulation,
        rule=RULE,
        devices=1,
        steps=steps,
        accumulate_grad_batches=accumulation,
    )
    assert [finding.code for finding in told] == ["S902"]
    assert guard.budget.steps == 20
    after = module.after[accumulation - 1 :: accumulation]
    moved = [not torch.equal(one, other) for one, other in pairwise(after)]
    assert [step + 1 for step, each in enumerate(moved) if not each] == [NOISE_AT]


def test_a_run_is_stopped_when_too_many_steps_are_refused(adapter):
    guard = Guard(RULE)
    guard.budget.window = 100
    callback = adapter.GuardCallback(guard, tell=lambda finding: None)
    callback.on_train_start(Loop(1), None)
    parameter = torch.nn.Parameter(torch.ones(2))
    loop, optimizer = Loop(1), torch.optim.SGD([parameter], 1.0)
    for _ in range(6):
        parameter.grad = torch.full((2,), torch.nan)
        callback.on_before_backward(loop, None, torch.tensor(1.0))
        callback.on_before_optimizer_step(loop, None, optimizer)
        assert parameter.grad is None
    assert loop.should_stop


def test_the_state_of_the_guard_goes_through_a_checkpoint(adapter):
    first, second = adapter.GuardCallback(Guard(RULE)), adapter.GuardCallback(Guard(RULE))
    first.guard.judge(1.0, 2.0)
    second.load_state_dict(first.state_dict())
    assert second.guard.to_dict() == first.guard.to_dict()


def test_wrong_calls_are_named(adapter):
    init = getattr(
        adapter.GuardCallback.__init__, "__wrapped__", adapter.GuardCallback.__init__
    )  # without the checks of types
    with pytest.raises(InputError, match="GuardCallback: tell: is no function"):
        init(adapter.GuardCallback(), tell="print")
    with pytest.raises(AttributeError, match="guard_trainer"):
        adapter.GuardCallback().on_init_end(None)
    with pytest.raises(AttributeError, match="no attribute 'gaurd'"):
        adapter.GuardCallback().gaurd  # noqa: B018


class Loop:
    """What the callback asks of a Trainer."""

    should_stop = False
    precision_plugin = None

    def __init__(self, optimizers, strategy="SingleDeviceStrategy"):
        self.optimizers, self.strategy = [None] * optimizers, type(strategy, (), {})()


@pytest.mark.parametrize(
    ("loop", "said"), [(Loop(2), "2 optimizers"), (Loop(1, "DeepSpeedStrategy"), "DeepSpeedStrategy")]
)
def test_what_it_cannot_guard_is_refused(loop, said, adapter):
    with pytest.raises(InputError, match=said):
        adapter.GuardCallback().on_train_start(loop, None)
