"""Every part of a layer in a model of each kind: however it is computed, it is the same.

The parts come from the unions of the settings, so that a new one is tested here without a line of its own.
"""

from typing import get_args

import pytest
import torch

from tests.for_each import for_each
from tests.streams import pack_of, stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.export_targets import ExportTarget, facts_of, obstacles
from trimtab.config.layer_parts import Activation, NormPosition
from trimtab.config.model import EncoderDecoderModel
from trimtab.config.positions import EncoderPositions, PositionKind
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.static.opener import StaticOpener

SOURCES = [[5, 6, 7, 8, 9, 3], [8, 9, 3], [10, 3]]
TARGETS = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]
SIZES = {"dim": 16, "heads": 4, "kv_heads": 2, "layers": 2, "feed_forward": 24, "dropout": 0.0}
KINDS = [kind for literal in get_args(PositionKind) for kind in get_args(literal)]
NORMS = [{"norm_position": each, "rezero": each == "none"} for each in get_args(NormPosition)]
FEW_TRANSLATORS = [
    {"positions": "shaw", "norm_position": "none", "rezero": True, "activation": "leaky_relu"},
    {"experts": {"count": 4, "active": 2}, "activation": "swiglu"},
    {
        "positions": "learned+rotary_qkv",
        "norm_position": "sandwich",
        "norm": "rms",
        "encoder_mix": "linear",
        "registers": 3,
    },
]
"""Of the quick suite; between them they have most parts."""
FEW_LANGUAGE_MODELS = [
    {"positions": "sinusoidal+shaw", "norm_position": "sandwich", "activation": "leaky_relu"},
    {"experts": {"count": 4, "active": 1}},
    {"mixture_of_depths": {"capacity": 0.5}, "positions": "sinusoidal+t5", "norm_position": "after"},
]
LAYERS = [
    *NORMS,
    *({"norm_position": each["norm_position"], "rezero": True} for each in NORMS),
    *({"activation": each} for each in get_args(Activation)),
    {"norm_position": "sandwich", "norm": "rms", "qk_norm": True, "bias": False},
]
TRANSLATORS = [
    *({"positions": each} for each in get_args(EncoderPositions)),
    *({"decoder_positions": each} for each in KINDS),
    *LAYERS,
    {"encoder_mix": "softmax", "norm_position": "after"},
    *({"registers": 2, "positions": each} for each in get_args(EncoderPositions)),
    *FEW_TRANSLATORS,
]
LANGUAGE_MODELS = [
    *({"positions": each} for each in KINDS),
    *({**each, "norm": "layer"} for each in LAYERS),
    {"positions": "rotary_qkv", "norm_position": "none", "rezero": True},
    *({"mixture_of_depths": {"capacity": 0.5, "interval": 1}, "positions": each} for each in KINDS),
    *({"mixture_of_depths": {"capacity": 0.5}, **each} for each in NORMS),
    {"mixture_of_depths": {"capacity": 0.5}, "experts": {"count": 4}, "qk_norm": True},
    *FEW_LANGUAGE_MODELS,
]


def shaken(model):
    """With weights that are none of them zero, nor so small that they could be left out unseen."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1 or "positions" in name or "relative" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return model.eval()


def translator(changes):
    config = EncoderDecoderModel(**{**SIZES, **changes})
    return shaken(EncoderDecoder(config, num_ids=60, max_positions=32, seed=1))


def language_model(changes):
    config = DecoderModel(**{**SIZES, **changes})
    return shaken(DecoderOnly(config, num_ids=60, max_positions=32, seed=1))


def build(kind):
    return translator if kind == "translator" else language_model


CASES = [
    *(("translator", each) for each in TRANSLATORS),
    *(("language model", each) for each in LANGUAGE_MODELS),
]

FEW = [
    *(("translator", each) for each in FEW_TRANSLATORS),
    *(("language model", each) for each in FEW_LANGUAGE_MODELS),
]


def close(found, wanted):
    torch.testing.assert_close(found, wanted, atol=3e-5, rtol=1e-4)


@pytest.mark.quick(case=FEW)
@pytest.mark.parametrize("case", CASES, ids=str)
@torch.no_grad()
def test_segments_of_a_pack_are_what_they_are_alone(case):
    kind, changes = case
    model = build(kind)(changes)
    together = model(pack_of(SOURCES, TARGETS)).split([4, 4, 4])
    for source, target, found in zip(SOURCES, TARGETS, together, strict=True):
        close(found, model(pack_of([source], [target], max_seqlen=16)))


@pytest.mark.quick(changes=FEW_TRANSLATORS)
@pytest.mark.parametrize("changes", TRANSLATORS, ids=str)
@torch.inference_mode()
def test_a_token_at_a_time_from_the_cache_is_the_whole_at_once(changes):
    model = translator(changes)
    whole = (model(pack_of(SOURCES, TARGETS)) @ model.output_matrix.T)[:, : model.num_ids].view(3, 4, -1)
    for opener in (model, StaticOpener(model)):
        session = opener.open_session(stream_of(SOURCES), rows=3, width=2, max_length=8)
        for i, column in enumerate(zip(*[[2, *row[:-1]] for row in TARGETS], strict=True)):
            found = session.step(torch.tensor(column)[:, None].expand(3, 2))
            close(found[:, 1], whole[:, i])


@pytest.mark.quick(changes=FEW_TRANSLATORS)
@pytest.mark.parametrize("changes", TRANSLATORS, ids=str)
@torch.inference_mode()
def test_a_beginning_that_is_fed_at_once_goes_on_as_by_steps(changes):
    model = translator(changes)
    fed, stepped = (model.open_session(stream_of(SOURCES), rows=3, width=2, max_length=8) for _ in range(2))
    fed.feed(torch.tensor([[2, 20, 21]] * 3), torch.tensor([0, 0, 0]))
    for token in (2, 20, 21):
        stepped.step(torch.full((3, 2), token))
    last = torch.tensor([[22, 23]] * 3)
    close(fed.step(last), stepped.step(last))


@pytest.mark.quick(changes=FEW_LANGUAGE_MODELS)
@pytest.mark.parametrize("changes", LANGUAGE_MODELS, ids=str)
@torch.inference_mode()
def test_a_prompt_goes_on_as_the_whole_text(changes):
    texts = [[4, 5, 6, 7, 8, 9], [14, 15, 16, 17]]
    model = language_model(changes)
    session = PromptSession(model, rows=2, width=1)
    session.feed(torch.tensor([[4, 5, 6, 7], [0, 0, 14, 15]]), torch.tensor([0, 2]))
    session.step(torch.tensor([[8], [16]]))
    found = session.step(torch.tensor([[9], [17]]))[:, 0]
    hidden = model.decode(stream_of(texts))[[5, 9]]
    close(found, (hidden @ model.output_matrix.T)[:, : model.num_ids])


@pytest.mark.quick(case=FEW)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_of_a_pack_is_the_sum_of_those_of_its_segments_and_reaches_every_weight(case):
    kind, changes = case
    model = build(kind)(changes).train()
    rows = [*zip(SOURCES, TARGETS, strict=True)]
    together = gradients(model, [rows])
    apart = gradients(model, [[row] for row in rows])
    for name, gradient in together.items():
        assert gradient.any(), name
        torch.testing.assert_close(gradient, apart[name], atol=1e-4, rtol=1e-3)


def gradients(model, packs):
    """Of the summed loss of some packs, each a list of pairs."""
    model.zero_grad(set_to_none=False)
    for rows in packs:
        sources, targets = map(list, zip(*rows, strict=True))
        pack = pack_of(sources, targets)
        hidden, terms = model(pack), Terms(model.num_ids, 0.0, 0.0)
        plain_cross_entropy(hidden, model.output_matrix, pack.labels, terms).objective.backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.quick(case=FEW)
@pytest.mark.parametrize("case", CASES, ids=str)
@torch.no_grad()
def test_what_a_layer_begins_with_predicts_nearly_evenly(case):
    kind, changes = case
    config = (EncoderDecoderModel if kind == "translator" else DecoderModel)(
        **{**SIZES, "dim": 64, **changes}
    )
    build_model = EncoderDecoder if kind == "translator" else DecoderOnly
    model, pack = build_model(config, num_ids=60, max_positions=32, seed=1), pack_of(SOURCES, TARGETS)
    terms = Terms(model.num_ids, 0.0, 0.0)
    found = plain_cross_entropy(model(pack), model.output_matrix, pack.labels, terms).objective
    assert 3.5 < float(found) / 12 < 5.6, "ln 60 is 4.1"


@pytest.mark.quick(case=FEW)
@pytest.mark.parametrize("case", CASES, ids=str)
@torch.no_grad()
def test_a_copy_in_half_precision_computes_about_the_same(case):
    kind, changes = case
    model, pack = build(kind)(changes), pack_of(SOURCES, TARGETS)
    half = model.half_precision_copy(torch.bfloat16)
    found, wanted = half(pack).float(), model(pack)
    assert float((found - wanted).norm() / wanted.norm()) < 0.1


@for_each(("kind", "changes"), CASES)
def test_each_part_is_exported_or_refused_by_its_key(kind, changes):
    config = (EncoderDecoderModel if kind == "translator" else DecoderModel)(**{**SIZES, **changes})
    for target in get_args(ExportTarget):
        if facts_of(target).takes(config.kind):
            for problem in obstacles(target, model=config, transforms=()):
                key = problem.what.partition(":")[0].removeprefix("model.")
                assert hasattr(config, key), problem
