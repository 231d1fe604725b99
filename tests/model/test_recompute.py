import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from tests.streams import pack_of
from trimtab.config.adapter import LoraAdapter
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.lora import add_lora
from trimtab.model.recompute import has_dropout, recomputed
from trimtab.model.source_attention import forward_aligned
from trimtab.tasks.classification.model import SequenceClassifier

SIZES = {"dim": 16, "heads": 2, "feed_forward": 48, "dropout": 0.3}
ROWS = [[20, 21, 3], [22, 23, 24, 25, 3], [26, 3]]
KINDS = ("feed_forward", "block")


def decoder(**changes):
    settings = DecoderModel(**{**SIZES, "layers": 2, "kv_heads": 1, **changes})
    return DecoderOnly(settings, num_ids=90, max_positions=32, seed=1)


def translator(**changes):
    settings = EncoderDecoderModel(**{**SIZES, "encoder_layers": 2, "decoder_layers": 2, **changes})
    return EncoderDecoder(settings, num_ids=90, max_positions=32, seed=1)


def adapted():
    model = decoder(dropout=0.0)
    add_lora(model, LoraAdapter(rank=2), seed=1, device=torch.device("cpu"))
    return model


def classifier():
    return SequenceClassifier(
        EncoderModel(**SIZES, layers=2), num_labels=3, num_pieces=90, max_positions=32, seed=1
    )


def vectors(model):
    pack = pack_of(ROWS, ROWS)
    return model.encode(pack.source) if isinstance(model, SequenceClassifier) else model(pack)


def gradients(model, recompute):
    """Of a loss with dropout, by name."""
    model.recompute_in_backward(recompute)
    model.train()
    model.zero_grad(set_to_none=True)
    torch.manual_seed(3)
    vectors(model).square().sum().backward()
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


MODELS = {
    "decoder": decoder,
    "gated, norms after": lambda: decoder(activation="geglu", norm_position="after", norm="layer", bias=True),
    "translator": translator,
    "translator, norms after": lambda: translator(norm_position="after"),
    "classifier": classifier,
    "adapter on frozen weights": adapted,
}


@pytest.mark.quick(
    "decoder-feed_forward", "translator, norms after-feed_forward", "adapter on frozen weights-block"
)
@pytest.mark.parametrize("recompute", KINDS)
@pytest.mark.parametrize("kind", MODELS)
def test_gradients_are_the_same_to_the_bit(kind, recompute):
    model = MODELS[kind]()
    plain, again = gradients(model, "none"), gradients(model, recompute)
    assert plain.keys() == again.keys()
    assert plain
    assert all(torch.equal(plain[name], again[name]) for name in plain)


def saved_bytes(model, recompute):
    """Of everything that autograd keeps, each tensor once."""
    model.recompute_in_backward(recompute)
    model.train()
    weights = {each.data_ptr() for each in model.parameters()}
    kept = {}

    def keep(tensor):
        if tensor.data_ptr() not in weights:
            kept[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        vectors(model).sum()
    return sum(kept.values())


@pytest.mark.parametrize("make", [decoder, translator])
def test_less_is_kept_for_the_backward_pass(make):
    none, part, whole = (saved_bytes(make(), recompute) for recompute in ("none", *KINDS))
    assert whole < part < none


def test_nothing_runs_twice_where_no_gradient_is_asked_for():
    calls = []

    def function(x):
        calls.append(x)
        return x * 2

    with torch.no_grad():
        recomputed(function, torch.ones(2))
    assert len(calls) == 1
    x = torch.ones(2, requires_grad=True)
    recomputed(lambda x: function(x) ** 2, x).sum().backward()
    assert len(calls) == 3
    assert x.grad.tolist() == [8.0, 8.0]


def test_only_layers_that_draw_in_training_bring_the_random_state_back():
    layer = decoder().blocks[0]
    assert has_dropout(layer)
    assert not has_dropout(layer.eval())
    assert not has_dropout(decoder(dropout=0.0).blocks[0])
    assert not has_dropout(nn.Linear(2, 2))


def test_a_head_that_learns_alignments_has_the_same_gradients():
    model, pack = translator(), pack_of(ROWS, ROWS)
    found = []
    for recompute in ("none", "block"):
        model.recompute_in_backward(recompute)
        model.zero_grad(set_to_none=True)
        torch.manual_seed(3)
        out = forward_aligned(model, pack, layer=1, head=1)
        (out.x.square().sum() + (out.queries.sum() * out.keys.sum())).backward()
        found.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
