import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, build
from tests.streams import START, stream_of
from trimtab.model.session import Session
from trimtab.model.static.opener import StaticOpener
from trimtab.model.static.session import StaticSession

TOKENS = torch.full((3, 2), START)


def opened(opener, *, max_length=16):
    return opener.open_session(stream_of(SOURCES), rows=3, width=2, max_length=max_length)


@torch.no_grad()
def test_a_second_session_beside_the_first_is_a_plain_one_and_disturbs_nothing():
    opener = StaticOpener(build().eval())
    first, second = opened(opener), opened(opener)
    assert isinstance(first, StaticSession)
    assert isinstance(second, Session)
    for _ in range(3):
        torch.testing.assert_close(first.step(TOKENS), second.step(TOKENS), atol=1e-5, rtol=1e-5)
    del first
    assert isinstance(opened(opener), StaticSession)


@torch.no_grad()
def test_sessions_after_one_another_share_their_memory():
    opener = StaticOpener(build().eval())
    opened(opener, max_length=32).step(TOKENS)
    before = {name: buffer.data_ptr() for name, buffer in opener.memory.buffers.items()}
    opened(opener).step(TOKENS)
    assert {name: buffer.data_ptr() for name, buffer in opener.memory.buffers.items()} == before


@torch.no_grad()
def test_without_memory_sessions_are_plain_from_then_on(monkeypatch):
    opener = StaticOpener(build().eval())

    def full(shape):
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(opener.memory, "reserve", full)
    with pytest.warns(UserWarning, match="without recorded steps"):
        assert isinstance(opened(opener), Session)
    monkeypatch.undo()
    assert isinstance(opened(opener), Session)


def test_the_model_is_the_one_that_is_given():
    plain = build().eval()
    assert StaticOpener(plain).model is plain
