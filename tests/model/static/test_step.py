import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, VARIANTS, build, logits
from tests.streams import START, stream_of
from trimtab.model.static.session import StaticSession, shape_of
from trimtab.model.static.session_memory import SessionMemory
from trimtab.model.static.step import static_step


@pytest.mark.quick(
    "{'heads': 4, 'kv_heads': 2, 'positions': 'rotary', 'activation': 'geglu', 'bias': False}",
    "{'norm_position': 'b2t', 'qk_norm': True, 'positions': 't5'}",
)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@torch.no_grad()
def test_steps_equal_the_whole_forward(variant):
    model = build(**variant).eval()
    targets = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]
    whole = logits(model, SOURCES, targets).view(3, 4, -1)
    plain = model.open_session(stream_of(SOURCES), rows=3, width=1, max_length=16)
    memory = SessionMemory(model)
    memory.reserve(shape_of(plain, 16))
    session = StaticSession(plain, memory, max_length=16, launch=lambda _, step: step())
    for i, column in enumerate(zip(*[[START, *row[:-1]] for row in targets], strict=True)):
        stepped = session.step(torch.tensor(column)[:, None])
        torch.testing.assert_close(stepped[:, 0], whole[:, i], atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_a_step_hears_and_tells_through_memory_that_stays():
    model = build().eval()
    plain = model.open_session(stream_of(SOURCES), rows=3, width=2, max_length=16)
    memory = SessionMemory(model)
    shape = shape_of(plain, 16)
    memory.reserve(shape)
    place = memory.place(shape)
    place.real[..., 0] = True
    buffers = {name: buffer.data_ptr() for name, buffer in memory.buffers.items()}
    for past in range(3):
        assert place.past.tolist() == [past]
        place.tokens.fill_(20 + past)
        static_step(model, place)
    assert {name: buffer.data_ptr() for name, buffer in memory.buffers.items()} == buffers
    assert place.ancestors[:, :, :3].tolist() == [[[0] * 3, [1] * 3]] * shape.rows
    assert place.blocks[0].keys[:, :, :3].abs().amin((2, 3, 4)).min() > 0
    assert not place.blocks[0].keys[:, :, 3:].any()
    assert place.logits.isfinite().all()
