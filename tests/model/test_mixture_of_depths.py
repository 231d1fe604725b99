"""A mixture of depths against its router written out, text by text."""

import math

import pytest
import torch

from tests.for_each import for_each
from tests.model.test_transformer_parts import SOURCES, TARGETS, language_model
from tests.streams import pack_of, stream_of
from trimtab.model.block import DecoderBlock
from trimtab.model.decoder_session import FIRST_SLOTS, PromptSession
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.router import router_losses
from trimtab.model.sequence_layout import sequence_layout

ROWS = [[4, 5, 6, 7, 8, 9, 10], [14, 15, 16], [24], [34, 35, 36, 37, 38]]
DEPTHS = {"capacity": 0.4, "interval": 2, "auxiliary_loss": 0.3}


def built(*, training=True, **changes):
    changes = {"mixture_of_depths": DEPTHS, "positions": "rotary", "layers": 3, **changes}
    return language_model(changes).train(training)


def plain(model, row):
    """The hidden vectors of one text: a layer with a router is given the tokens that it takes, and no others."""
    stream, losses = stream_of([row]), []
    x = model.embed_target(stream)
    for block in model.decoder.blocks:
        passes = torch.ones(len(row), dtype=torch.bool)
        if block.depths is not None:
            scores = x @ block.depths.weight
            passes = scores > 0
            if model.training:
                best = scores.argsort(descending=True)[: math.ceil(0.4 * len(row))]
                passes = torch.zeros(len(row), dtype=torch.bool).index_fill(0, best, True)
            chances = scores.sigmoid()
            losses += torch.where(passes, -chances.log(), -(1 - chances).log())
        kept = passes.nonzero().flatten()
        if len(kept):
            positions = PositionInputs(model.target_positions.rotate(stream.positions[kept]))
            layout = sequence_layout(stream_of([kept.tolist()]), padded=True)
            router, block.depths = block.depths, None
            computed = block(x[kept], layout, positions)
            block.depths = router
            if router is not None:
                computed = x[kept] + chances[kept, None] * (computed - x[kept])
            x = x.index_copy(0, kept, computed)
    return model.decoder.norm(x), losses


@pytest.mark.parametrize("training", [True, False])
def test_only_chosen_tokens_are_computed_and_attended_to(training):
    model = built(training=training)
    wanted, losses = zip(*(plain(model, row) for row in ROWS), strict=True)
    found, wanted = model.decode(stream_of(ROWS)), torch.cat(wanted)
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4)
    weight = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1))
    added = 0.3 * torch.stack([each for loss in losses for each in loss]).mean() if training else 0.0
    found_losses = router_losses(model) if training else 0.0
    weights = dict(model.named_parameters())
    gradients = [
        torch.autograd.grad((each * weight).sum() + loss, [*weights.values()], allow_unused=True)
        for each, loss in ((found, found_losses), (wanted, added))
    ]
    for name, one, other in zip(weights, *gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3, msg=name)
    assert gradients[0][[*weights].index("decoder.blocks.1.depths.weight")].any()
    if training:
        torch.testing.assert_close(found_losses, added)


@for_each("positions", ["rotary", "t5", "sinusoidal+shaw"])
def test_a_text_in_a_pack_is_trained_as_it_is_alone(positions):
    model = built(positions=positions)
    together = model.decode(stream_of(ROWS, max_seqlen=16)).split([len(row) for row in ROWS])
    for row, found in zip(ROWS, together, strict=True):
        torch.testing.assert_close(found, model.decode(stream_of([row])), atol=2e-5, rtol=1e-4)


def test_sizes_in_training_follow_from_those_of_the_stream_alone():
    model, sizes = built(), []
    model.decoder.blocks[1].norm_attention.register_forward_hook(
        lambda _, given, __: sizes.append(given[0].shape)
    )
    for rows in (ROWS, [[5] * 13, [6], [7], [8]], [[4] * 4] * 4):
        model.decode(stream_of(rows, max_seqlen=16))
    assert {*sizes} == {(16 * 2 // 5 + 4, 16)}


@torch.inference_mode()
def test_decoding_goes_on_as_the_whole_text_beyond_the_first_slots_of_its_cache():
    model = built(training=False, positions="alibi")
    model.max_positions, texts = 2 * FIRST_SLOTS, torch.randint(4, 60, (2, FIRST_SLOTS + 6))
    session = PromptSession(model, rows=2, width=2)
    session.feed(texts[:, :FIRST_SLOTS], torch.tensor([0, 0]))
    session.reorder(torch.tensor([[1, 0], [0, 0]]))
    for column in texts[:, FIRST_SLOTS:].T:
        found = session.step(column[:, None].expand(2, 2))
    wanted = model.decode(stream_of(texts.tolist()))[[FIRST_SLOTS + 5, -1]]
    wanted = (wanted @ model.output_matrix.T)[:, : model.num_ids]
    torch.testing.assert_close(found[:, 0], wanted, atol=3e-5, rtol=1e-4)
    session.keep(torch.tensor([1]))
    assert session.step(texts[1:, :1].expand(1, 2)).shape == (1, 2, 60)


@pytest.mark.slow
def test_layers_that_are_computed_again_have_the_same_gradients():
    gradients = []
    for kind in ("none", "feed_forward", "block"):
        model = built()
        model.recompute_in_backward(kind)
        (model(pack_of(SOURCES, TARGETS)).square().sum() + router_losses(model)).backward()
        gradients.append([each.grad for each in model.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(gradients[0], gradients[2])


def test_interval_says_which_layers_have_a_router():
    blocks = built(mixture_of_depths={"interval": 3}, layers=7).decoder.blocks
    assert all(isinstance(each, DecoderBlock) for each in blocks)
    assert [each.depths is not None for each in blocks] == [False, False, True, False, False, True, False]
