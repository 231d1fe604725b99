import pytest
import torch

from tests.faults.mutation import put_bug
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.feed_forward import FeedForward
from trimtab.training.preflight.gradients import arrives, every_weight_learns


def told(parts):
    return [(each.code, each.message) for each in every_weight_learns(parts)]


def test_every_weight_of_a_healthy_model_learns(parts):
    assert told(parts) == []
    assert not parts.model.embedding._forward_hooks


def test_a_detached_layer_is_named(parts, monkeypatch):
    put_bug(monkeypatch, FeedForward.forward, ("self.activation))", "self.activation)).detach()"))
    ((code, message),) = told(parts)
    assert code == "M205"
    assert "encoder.blocks.0.feed_forward.up.weight" in message
    assert "and 9 more" in message


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (EncoderDecoder.embed_source, ("table(stream.ids)", "table(stream.ids).detach()")),
        (EncoderDecoder.embed_target, ("self.embedding(stream.ids)", "self.embedding(stream.ids).detach()")),
    ],
)
def test_tied_embeddings_that_are_detached_on_one_side_are_named(parts, monkeypatch, function, change):
    put_bug(monkeypatch, function, change)
    ((code, message),) = told(parts)
    assert code == "M205"
    assert message.endswith("reaches embedding where it is looked up")


def test_weights_that_the_recipe_freezes_are_no_finding(parts):
    parts.model.embedding.weight.requires_grad_(False)
    assert [code for code, _ in told(parts)] == ["M206"]
    parts.model.frozen = frozenset({"embedding.weight"})
    assert told(parts) == []


def test_frozen_weights_are_named_and_not_looked_for_elsewhere(parts):
    parts.model.embedding.weight.requires_grad = False
    ((code, message),) = told(parts)
    assert code == "M206"
    assert "embedding.weight cannot be trained" in message


def test_a_gradient_that_is_not_finite_is_named(parts):
    gain = parts.model.decoder.norm.weight
    gain.register_hook(lambda gradient: gradient * torch.nan)
    ((code, message),) = told(parts)
    assert code == "M205"
    assert message.endswith("reaches decoder.norm.weight")


def test_none_and_zeros_are_no_gradient():
    assert not arrives(None)
    assert not arrives(torch.zeros(3))
    assert not arrives(torch.tensor([1.0, torch.inf]))
    assert arrives(torch.tensor([0.0, 1e-30]))
