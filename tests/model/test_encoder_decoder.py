import itertools
import math

import pytest
import torch

from tests.streams import pack_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.loss.plain import plain_cross_entropy
from trimtab.loss.terms import Terms
from trimtab.model.encoder_decoder import EncoderDecoder

SOURCES = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 3]]
TARGETS = [[20, 21, 3], [22, 23, 24, 25, 3], [26, 3]]
CROSSED = [
    {
        "positions": positions,
        "norm": norm,
        "norm_position": place,
        "activation": activation,
        "tie_embeddings": tie,
    }
    for (positions, activation, tie), (norm, place) in zip(
        itertools.product(
            ("sinusoidal", "learned", "rotary"), ("relu", "gelu", "swiglu"), ("all", "decoder")
        ),
        itertools.cycle(itertools.product(("layer", "rms"), ("before", "after"))),
        strict=False,
    )
]
OTHERS = [
    {"heads": 4, "kv_heads": 1},
    {"heads": 4, "kv_heads": 2, "positions": "rotary", "activation": "geglu", "bias": False},
    {"encoder_heads": 4, "encoder_feed_forward": 24, "positions": "rotary", "activation": "silu"},
    {"decoder_heads": 4, "decoder_kv_heads": 2, "decoder_feed_forward": 24, "decoder_positions": "rotary"},
    {"decoder_positions": "none"},
    {"positions": "rotary", "decoder_positions": "learned", "norm_position": "after"},
    {"tie_embeddings": "none"},
    {"qk_norm": True, "heads": 4, "kv_heads": 2, "positions": "rotary"},
    {"norm_position": "b2t", "norm": "rms"},
    {"norm_position": "b2t", "qk_norm": True, "positions": "t5"},
]
ALL = [*CROSSED, *OTHERS]
QUICK = 5
"""Each so many of the crossed ones is in the quick suite, so that each value of each setting is."""
VARIANTS = [
    pytest.param(each, id=str(each), marks=pytest.mark.slow if number % QUICK else ())
    for number, each in enumerate(CROSSED)
]
VARIANTS += OTHERS
FEW = [CROSSED[0], CROSSED[15], OTHERS[1], OTHERS[-1]]
"""Of the quick suite where a case takes long: they differ in most of what variants differ in."""


def build(num_ids=90, **changes):
    config = EncoderDecoderModel(
        **{"dim": 32, "heads": 2, "layers": 2, "feed_forward": 48, "dropout": 0.0, **changes}
    )
    return EncoderDecoder(config, num_ids=num_ids, max_positions=32, seed=1)


def logits(model, sources, targets, **kwargs):
    return (model(pack_of(sources, targets, **kwargs)) @ model.output_matrix.T)[:, : model.num_ids]


@pytest.mark.quick(variant=FEW)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_segments_of_a_pack_never_see_each_other(variant):
    model = build(**variant).eval()
    together = logits(model, SOURCES, TARGETS).split([len(row) for row in TARGETS])
    for source, target, in_pack in zip(SOURCES, TARGETS, together, strict=True):
        torch.testing.assert_close(in_pack, logits(model, [source], [target]), atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(
        torch.cat(together), logits(model, SOURCES, TARGETS, max_seqlen=16), atol=2e-5, rtol=1e-4
    )


def test_a_target_token_never_sees_those_after_it():
    model = build().eval()
    first = logits(model, [SOURCES[0]], [[20, 21, 22, 3]])
    other = logits(model, [SOURCES[0]], [[20, 21, 30, 3]])
    assert torch.equal(first[:3], other[:3])
    assert not torch.equal(first[3], other[3])


def test_each_source_token_and_its_place_matter():
    model = build().eval()
    first = logits(model, [[5, 6, 7, 3]], [TARGETS[0]])
    assert not torch.allclose(first, logits(model, [[5, 9, 7, 3]], [TARGETS[0]]))
    assert not torch.allclose(first, logits(model, [[7, 6, 5, 3]], [TARGETS[0]]))


@pytest.mark.quick(variant=FEW)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_first_loss_is_near_the_logarithm_of_the_vocabulary(variant):
    model = build(num_ids=500, **variant)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(4, 500, (12,), generator=generator).tolist() for _ in range(16)]
    pack = pack_of(rows, rows[::-1])
    loss = plain_cross_entropy(model(pack), model.output_matrix, pack.labels, Terms(500, 0.0, 0.0)).loss
    assert abs(float(loss) / pack.num_targets - math.log(500)) < 0.15 * math.log(500)


def test_the_vocabulary_is_padded_to_a_multiple_of_64_and_tied_parameters_count_once():
    model = build(num_ids=65)
    assert model.output_matrix.shape[0] == 128
    assert model.output_matrix is model.embedding.weight
    assert model.num_parameters() == sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
    assert "sines" not in model.state_dict()


def test_every_parameter_gets_a_gradient():
    model = build(positions="learned", tie_embeddings="decoder")
    pack = pack_of(SOURCES, TARGETS)
    plain_cross_entropy(
        model(pack), model.output_matrix, pack.labels, Terms(90, 0.1, 0.0)
    ).objective.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_parameters_are_as_many_as_the_sizes_say():
    model = build(
        dim=32,
        heads=4,
        encoder_heads=2,
        kv_heads=2,
        decoder_kv_heads=1,
        encoder_feed_forward=24,
        activation="swiglu",
        bias=False,
        norm="rms",
        layers=3,
    )
    norms = 2 * 3 + 3 * 3 + 2
    encoder = 3 * (2 * 32 * 32 + 32 * 2 * 32 + 3 * 32 * 24)
    one_head = 2 * 32 * 8  # the decoder's keys and values have one head of 8
    decoder = 3 * (4 * 32 * 32 + 2 * one_head + 3 * 32 * 48)
    assert model.num_parameters() == 128 * 32 + norms * 32 + encoder + decoder


def test_a_decoder_without_positions_still_sees_the_order_from_its_second_layer_on():
    # In the first one a token sees the words before it as a set (arXiv 2305.19466, theorem 1 needs two layers).
    first, other = [[20, 21, 22, 3]], [[21, 20, 22, 3]]
    for layers, same in ((1, True), (2, False)):
        model = build(decoder_positions="none", decoder_layers=layers).eval()
        seen = [logits(model, [SOURCES[0]], rows)[3] for rows in (first, other)]
        assert torch.allclose(*seen, atol=1e-6) == same


def test_untied_matrices_are_three_and_each_side_has_its_number_of_ids():
    config = EncoderDecoderModel(
        dim=32, heads=2, layers=1, feed_forward=48, dropout=0.0, tie_embeddings="none"
    )
    model = EncoderDecoder(config, num_ids=90, num_source_ids=200, max_positions=32, seed=1)
    tables = [model.source_embedding.weight, model.embedding.weight, model.output_matrix]
    assert [tuple(table.shape) for table in tables] == [(256, 32), (128, 32), (128, 32)]
    assert len({table.data_ptr() for table in tables}) == 3
    logits(model, [[199, 3]], [[89, 3]]).sum().backward()
    assert [int(table.grad.abs().sum(1).gt(0).sum()) for table in tables] == [2, 2, 90]


def test_tying_changes_which_matrix_is_read_and_nothing_else():
    tied, untied = build(tie_embeddings="decoder"), build(tie_embeddings="none")
    assert not torch.equal(untied.output.weight, untied.embedding.weight)
    found = untied.state_dict()
    untied.load_state_dict({**found, **tied.state_dict(), "output.weight": tied.embedding.weight.detach()})
    assert torch.equal(logits(tied, SOURCES, TARGETS), logits(untied, SOURCES, TARGETS))


def test_one_matrix_for_two_sizes_is_an_error_of_ours():
    config = EncoderDecoderModel(dim=32, heads=2, layers=1, feed_forward=48)
    with pytest.raises(AssertionError, match="one matrix for 200 and 90 ids"):
        EncoderDecoder(config, num_ids=90, num_source_ids=200, max_positions=32, seed=1)
