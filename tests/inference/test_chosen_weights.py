import pytest
import torch

from tests.averaging.made import WEIGHTS, made
from trimtab.checkpoint.manifest import MODEL, OPTIMIZER
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.errors import InputError
from trimtab.inference.chosen_weights import chosen_weights, place_of, weights_meant, weights_sha256

MEANS = {"ema.updates": torch.tensor(4), "ema.weights.a": torch.full((2, 3), 5.0), "moment": torch.ones(1)}


@pytest.mark.parametrize("evaluated", ["raw", "ema"])
@pytest.mark.parametrize("asked", ["raw", "ema", None])
def test_what_is_asked_for_comes_before_what_the_run_evaluates(tmp_path, evaluated, asked):
    changes = {"step.ema": {"decay": 0.9}, "evaluate.weights": evaluated}
    member = made(tmp_path, optimizer=MEANS, **changes)
    where, recipe = f"{tmp_path / 'run'}@4", member.recipe
    checkpoint = resolve_checkpoint(f"{where}:{asked}" if asked else where)
    meant = weights_meant(checkpoint, recipe)
    assert meant == (asked or evaluated)
    weights = chosen_weights(checkpoint, recipe)
    assert weights.keys() == WEIGHTS.keys()
    assert torch.equal(weights["a"], MEANS["ema.weights.a"] if meant == "ema" else WEIGHTS["a"])
    assert torch.equal(weights["norm.weight"], WEIGHTS["norm.weight"]), "not trained, so not averaged"
    file = OPTIMIZER if meant == "ema" else MODEL
    assert weights_sha256(checkpoint, recipe) == checkpoint.manifest.files.named()[file].sha256
    again = resolve_checkpoint(place_of(checkpoint, recipe))
    assert weights_meant(again, recipe) == meant
    assert (":" in place_of(checkpoint, recipe).rpartition("@")[2]) == ("ema" in (meant, evaluated))


def test_a_run_that_kept_no_average_says_so_and_what_there_is(tmp_path):
    member = made(tmp_path)
    checkpoint = resolve_checkpoint(f"{tmp_path / 'run'}@ema")
    with pytest.raises(InputError, match="no moving average of the weights was kept") as caught:
        chosen_weights(checkpoint, member.recipe)
    assert caught.value.problems[0].allowed == f"{tmp_path / 'run'}@4:raw"
