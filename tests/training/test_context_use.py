from dataclasses import replace

import pytest
import torch

from tests.model.test_decoder_only import build as language_model
from tests.model.test_decoder_only import documents
from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of, stream_of
from trimtab.training.context_use import (
    context_use,
    of_second_halves,
    other_beginnings,
    other_contexts,
    rolled,
)
from trimtab.training.position_use import loss_of
from trimtab.types import IGNORE

SEPARATOR = 4


def test_rolled_sources_are_those_of_the_next_text():
    wanted = stream_of([*SOURCES[1:], SOURCES[0]], max_seqlen=6)
    found = rolled(stream_of(SOURCES), len(SOURCES))
    for name in ("ids", "positions", "segments", "cu_seqlens"):
        assert torch.equal(getattr(found, name), getattr(wanted, name)), name
    first_two = rolled(stream_of(SOURCES), 2)
    assert first_two.ids.tolist() == [*SOURCES[1], *SOURCES[0], *SOURCES[2]]


def test_a_context_is_lent_and_the_line_keeps_its_place():
    rows = [[10, 11, 12, SEPARATOR, 20, 3], [21, 3], [13, SEPARATOR, 22, 3]]
    found = other_contexts(stream_of(rows), rows=3, separator=SEPARATOR).ids.tolist()
    assert found == [13, 13, 13, SEPARATOR, 20, 3, 21, 3, 10, SEPARATOR, 22, 3]


def test_a_beginning_is_lent_and_only_what_follows_is_scored():
    batch = documents([[20, 21, 22, 3], [30, 31, 32, 33, 34, 3]])
    assert other_beginnings(batch.target, rows=2).ids.tolist() == [2, 30, 21, 22, 2, 20, 21, 32, 33, 34]
    found = of_second_halves(batch)
    assert found.tolist() == [IGNORE, IGNORE, 22, 3, IGNORE, IGNORE, IGNORE, 33, 34, 3]


@torch.no_grad()
def test_a_translator_that_cannot_see_its_source_scores_as_well_with_another():
    model, batch = build().eval(), pack_of(SOURCES, TARGETS)
    other = pack_of([*SOURCES[1:], SOURCES[0]], TARGETS)
    wanted = loss_of(model, model(other), other) - loss_of(model, model(batch), batch)
    assert context_use(model, batch)["loss_with_other_source"] == pytest.approx(wanted, abs=1e-6)
    assert abs(wanted) > 1e-4
    for block in model.decoder.blocks:
        block.cross.out.weight.zero_()
    found = context_use(model, batch, separator=SEPARATOR)
    assert found == {
        "loss_with_other_source": pytest.approx(0.0, abs=1e-6),
        "loss_with_other_context": pytest.approx(0.0, abs=1e-6),
    }


@torch.no_grad()
def test_a_language_model_of_single_tokens_does_not_use_what_came_before():
    model = language_model().eval()
    batch = documents([[20, 21, 22, 23, 24, 3], [30, 31, 32, 33, 34, 3]])
    assert abs(context_use(model, batch)["loss_with_other_beginning"]) > 1e-4
    for block in model.decoder.blocks:
        block.attention.out.weight.zero_()
    # The label in the middle is predicted from a token that was lent: its own input stays as it is.
    assert context_use(model, batch)["loss_with_other_beginning"] == pytest.approx(0.0, abs=1e-6)


def test_one_text_alone_and_other_models_have_none():
    assert context_use(build().eval(), pack_of(SOURCES[:1], TARGETS[:1])) == {}
    assert context_use(torch.nn.Linear(2, 2), pack_of(SOURCES, TARGETS)) == {}
    blank = replace(pack_of(SOURCES, TARGETS).blank(), num_segments=3)
    assert context_use(build().eval(), blank) == {}
