import pytest
import torch

from tests.averaging.made import WEIGHTS, made
from trimtab.averaging.members import best_of_run, open_member, open_members
from trimtab.errors import InputError

MEANS = {"ema.updates": torch.tensor(4), "ema.weights.a": torch.full((2, 3), 5.0)}


def labels(specs, **options):
    members = open_members(specs, **{"last": None, "weights": None, "least": 2, **options})
    return [each.label for each in members]


def test_the_last_of_a_run_are_its_newest(run):
    assert labels([str(run)], last=3) == [f"{run}@{step}" for step in (20, 30, 40)]
    assert labels([f"{run}@ema"], last=2) == [f"{run}@30:ema", f"{run}@40:ema"]
    with pytest.raises(InputError, match="for the checkpoints of one run"):
        labels([str(run), str(run)], last=2)


def test_a_name_that_is_no_list_is_refused(run):
    with pytest.raises(InputError, match=r'checkpoints: a single text[\s\S]*a list: \["..."\]'):
        labels(str(run), last=2)


def test_one_checkpoint_under_two_names_is_one_and_its_two_kinds_of_weights_are_two(run):
    with pytest.raises(InputError, match="at least two different"):
        labels([f"{run}@40", f"{run}@last", f"{run}@40:raw"])
    assert labels([f"{run}@40", f"{run}@40:ema"]) == [f"{run}@40", f"{run}@40:ema"]


def test_weights_that_are_asked_for_hold_where_a_name_says_nothing(run):
    wanted = [f"{run}@30:ema", f"{run}@40"]
    assert labels([f"{run}@30", f"{run}@40:raw"], weights="ema") == wanted
    assert labels([f"{run}@40"], weights="ema", least=1) == [f"{run}@40:ema"]


def test_a_name_gives_the_weights_it_means(tmp_path):
    member = made(tmp_path, optimizer=MEANS, **{"step.ema": {"decay": 0.9}})
    assert torch.equal(member.load()["a"], WEIGHTS["a"])
    averaged = open_member(f"{tmp_path / 'run'}@ema").load()
    assert torch.equal(averaged["a"], MEANS["ema.weights.a"])
    assert torch.equal(averaged["norm.weight"], WEIGHTS["norm.weight"])
    assert torch.equal(member.with_weights("ema").load()["a"], MEANS["ema.weights.a"])


def test_the_best_of_a_run_stands_beside_where_it_is_none_of_them(run, tmp_path):
    members = open_members([f"{run}@10", f"{run}@20"], last=None, weights=None, least=2)
    assert best_of_run(members).label == f"{run}@40"
    assert best_of_run([each.with_weights("ema") for each in members]).label == f"{run}@40:ema"
    assert best_of_run([open_member(f"{run}@40")]) is None
    assert best_of_run([*members, made(tmp_path)]) is None
