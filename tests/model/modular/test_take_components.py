"""First weights of a modular model from another: what is taken, what is new, and what does not fit."""

import pytest
import torch
from torch import nn

from tests.model.modular.test_modular import NUM_IDS, modular, modular_of
from tests.modular_run import DIRECTIONS
from trimtab.errors import InputError
from trimtab.model.modular.take_components import take_components
from trimtab.model.warm_start import RowMap

SAME = RowMap(list(range(NUM_IDS)), {})


def test_components_of_both_keep_their_weights_and_others_are_named() -> None:
    directions = {
        "en-de": {"encoder": ["shared"], "decoder": ["de"]},
        "en-it": {"encoder": ["shared"], "decoder": ["it"]},
    }
    new = modular_of(directions, {"shared": 1}, {"de": 1, "it": 1})
    old = modular()
    first = {name: weight.detach().clone() for name, weight in new.named_parameters()}
    told = take_components(new, old, rows=SAME, name="runs/old")
    assert "new decoder.it" in told
    assert "left out" in told
    theirs = dict(old.named_parameters())
    for name, weight in new.named_parameters():
        expected = first[name] if name.startswith("decoder.it") else theirs[name]
        assert torch.equal(weight[:NUM_IDS], expected[:NUM_IDS]), name


def test_another_depth_or_layer_is_refused() -> None:
    deeper = modular_of(DIRECTIONS, {"shared": 2, "de": 1}, {"de": 1, "en": 1, "pt": 1})
    with pytest.raises(InputError, match=r"encoder_components\.shared"):
        take_components(deeper, modular(), rows=SAME, name="runs/old")
    with pytest.raises(InputError, match=r"model\.norm"):
        take_components(modular(norm="rms"), modular(), rows=SAME, name="runs/old")
    with pytest.raises(InputError, match="no modular model"):
        take_components(modular(), nn.Linear(1, 1), rows=SAME, name="runs/old")
