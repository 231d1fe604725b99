import pytest
import torch

from tests.averaging.made import MARKS, WEIGHTS, made, made_of_texts
from trimtab.averaging.compatibility import STATISTICS, check_compatible, different_start
from trimtab.errors import InputError


@pytest.fixture
def first(tmp_path):
    return made(tmp_path / "first")


def refusal(*members):
    with pytest.raises(InputError) as caught:
        check_compatible(members)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("other", "what", "got", "allowed"),
    [
        ({"model.feed_forward": 40}, "another model", "feed_forward 40", "feed_forward 64"),
        ({"model": {**WEIGHTS, "a": torch.ones(2, 4)}}, "another model", "a [2, 4]", "a [2, 3]"),
        ({"model": {"a": WEIGHTS["a"]}}, "another model", "norm.weight none", "norm.weight [3]"),
        ({"model": {**WEIGHTS, "b": torch.ones(1)}}, "another model", "b [1]", "b none"),
        (
            {"model": {**WEIGHTS, "a": torch.ones(2, 3).bfloat16()}},
            "another element type",
            "a BF16",
            "a F32",
        ),
        (
            {"marks": {"tokenizer": "cd" * 32}},
            "another vocabulary",
            f"tokenizer {'cd' * 8}",
            f"tokenizer {'ab' * 8}",
        ),
        (
            {"marks": {**MARKS, "source_tokenizer": "cd" * 32}},
            "another vocabulary",
            f"source_tokenizer {'cd' * 8}",
            "source_tokenizer none",
        ),
    ],
)
def test_what_differs_is_refused_by_name(first, tmp_path, other, what, got, allowed):
    keys = {key: value for key, value in other.items() if "." in key}
    tensors = {key: value for key, value in other.items() if "." not in key}
    problem = refusal(first, made(tmp_path / "other", **tensors, **keys))
    assert problem.what.endswith(f"cannot be averaged: {what}")
    assert (problem.got, problem.allowed) == (got, allowed)


@pytest.mark.parametrize("ending", STATISTICS)
def test_batch_norms_are_refused_since_their_statistics_are_not_made_anew(tmp_path, ending):
    weights = {**WEIGHTS, f"layer.norm.{ending}": torch.ones(3)}
    members = [made(tmp_path / name, model=weights) for name in "ab"]
    problem = refusal(*members)
    assert "batch norms" in problem.what
    assert problem.got == f"1 of their statistics, such as layer.norm.{ending}"
    assert "update_bn" in problem.fix


def test_what_changes_no_weight_may_differ(first, tmp_path):
    other = made(tmp_path / "other", step=5, **{"model.dropout": 0.3, "step.optimizer.learning_rate": 1e-3})
    check_compatible([first, other])
    assert different_start([first, other]) is None


def test_other_first_weights_are_told_of_seeds_and_of_warm_starts(first, tmp_path):
    seeded = made(tmp_path / "seeded", seed=2)
    told = different_start([first, seeded]).problems[0]
    assert told.what.endswith("another first weights")
    assert (told.got, told.allowed) == ("seed 2", "seed 1")
    assert "--across-starts REASON" in told.fix
    starts = [
        made(
            tmp_path / name, **{"model.warm_start": "/runs/a@5", "model.warm_start_sha256": sha, "seed": seed}
        )
        for name, sha, seed in (("x", "1" * 64, 1), ("y", "1" * 64, 2), ("z", "2" * 64, 1))
    ]
    assert different_start(starts[:2]) is None, "one warm start is one beginning, whatever the seed"
    assert "warm_start" in different_start(starts[1:]).problems[0].got
    assert different_start([first, starts[0]]) is not None


def test_of_models_of_two_kinds_the_kinds_alone_are_told(first, tmp_path):
    other = made_of_texts(tmp_path / "other")
    problem = refusal(first, other)
    assert problem.what.endswith("cannot be averaged: another kind of model")
    assert (problem.got, problem.allowed) == ("kind decoder", "kind encoder_decoder")


def test_what_is_not_set_and_what_is_not_there_are_both_called_none(first, tmp_path):
    problem = refusal(first, made(tmp_path / "other", **{"model.encoder_heads": 4}))
    assert (problem.got, problem.allowed) == ("encoder_heads 4", "encoder_heads none")


def test_of_many_differences_a_few_are_shown(first, tmp_path):
    problem = refusal(first, made(tmp_path / "other", model={f"w{i}": torch.ones(1) for i in range(9)}))
    assert problem.got.endswith("and 6 more")
