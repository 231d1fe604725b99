import copy

import pytest
import torch
from torch import nn

from tests.label_run import label_parts
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.training.preflight.ties import weights_survive_loading


def told(parts):
    return [(each.code, each.message) for each in weights_survive_loading(parts)]


@pytest.mark.parametrize("tied", ["all", "decoder", "none"])
def test_every_way_of_tying_survives(parts_with, tied):
    parts = parts_with(model={"tie_embeddings": tied})
    before = {name: each.clone() for name, each in parts.model.state_dict().items()}
    assert told(parts) == []
    assert all(torch.equal(before[name], each) for name, each in parts.model.state_dict().items())


@pytest.mark.parametrize("name", ["output", "source_embedding"])
def test_matrices_that_are_apart_from_the_start_are_found(parts, name):
    setattr(parts.model, name, copy.deepcopy(parts.model.embedding))
    ((code, message),) = told(parts)
    assert code == "M207"
    assert message.endswith("are not what tie_embeddings: all says")


def test_matrices_that_are_one_and_should_not_be_are_found(parts_with):
    parts = parts_with(model={"tie_embeddings": "none"})
    parts.model.output.weight = parts.model.embedding.weight
    ((code, _),) = told(parts)
    assert code == "M207"


def test_what_loading_unties_is_found_and_the_model_stays_tied(parts, monkeypatch):
    def load(self, state):
        nn.Module.load_state_dict(self, state)
        self.source_embedding = copy.deepcopy(self.embedding)

    monkeypatch.setattr(EncoderDecoder, "load_state_dict", load)
    ((code, message),) = told(parts)
    assert code == "M207"
    assert message.endswith("after weights were loaded")
    assert parts.model.source_embedding is None


def test_a_weight_that_is_not_saved_is_named(parts, monkeypatch):
    def without(self):
        state = nn.Module.state_dict(self)
        return {name: tensor for name, tensor in state.items() if name != "encoder.norm.weight"}

    monkeypatch.setattr(EncoderDecoder, "state_dict", without)
    monkeypatch.setattr(
        EncoderDecoder,
        "load_state_dict",
        lambda self, state: nn.Module.load_state_dict(self, state, strict=False),
    )
    ((code, message),) = told(parts)
    assert code == "M208"
    assert "encoder.norm.weight is not what it was" in message


def test_a_classifier_has_a_matrix_of_its_own_for_labels(tmp_path):
    parts = label_parts(tmp_path)
    assert told(parts) == []
    parts.model.output = None
    assert [code for code, _ in told(parts)] == ["M207"]


def test_of_a_model_that_says_nothing_of_ties_only_the_weights_are_compared(parts):
    parts.model = nn.Linear(3, 2)
    assert told(parts) == []
