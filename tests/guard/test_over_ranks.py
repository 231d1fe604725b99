import math

import pytest
import torch

from trimtab.errors import InputError
from trimtab.guard import Guard
from trimtab.guard.over_ranks import mean, norm_of_parts, number_of, whole_step


def test_tensors_are_judged_as_numbers_and_leave_no_graph_behind():
    guard = Guard()
    for _ in range(3):
        loss = torch.ones(2, requires_grad=True).sum()
        guard.judge(loss, loss * 2)
    assert guard.to_dict()["outliers"]["losses"] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(("loss", "norm", "said"), [(torch.ones(2), 1.0, "loss"), (1.0, -2.0, "grad_norm")])
def test_what_is_no_loss_or_norm_is_refused(loss, norm, said):
    with pytest.raises(InputError, match=rf"Guard.judge: {said}"):
        Guard().judge(loss, norm)


def test_ranks_have_the_mean_loss_and_the_norm_of_all_parts():
    assert mean([0.1, 0.1, 0.1]) == 0.1
    assert mean([1.0, 2.0]) == 1.5
    assert math.isnan(mean([math.inf, -math.inf]))
    assert norm_of_parts([0.3, 0.3]) == 0.3
    assert norm_of_parts([3.0, 4.0]) == pytest.approx(5 / math.sqrt(2))
    assert math.isnan(norm_of_parts([math.nan, math.inf]))


def test_several_processes_without_a_group_are_refused(monkeypatch):
    assert whole_step(1.0, 2.0, memory=0, ranks="all") == (1.0, 2.0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"Guard.judge: there are several processes"):
        Guard().judge(1.0, 1.0)
    assert Guard(ranks="alone").judge(1.0, 1.0).apply
    assert number_of(3, name="loss") == 3.0
