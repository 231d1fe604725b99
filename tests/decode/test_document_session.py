"""Sessions that are joined give the logits that each of them gives alone."""

import pytest
import torch

from tests.decode.copying import CopyingSession
from trimtab.decode.document_session import JoinableSession, first_tokens, join, trim
from trimtab.decode.stream import stream_of
from trimtab.inference import load_model
from trimtab.model.session import Session

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(trained_run):
    return load_model(str(trained_run), device="cpu").model


def opened(model, sources, given):
    session = Session(model, stream_of(sources, CPU), rows=len(sources), width=2)
    return session, first_tokens(session, given, start=2, width=2, device=CPU)


@pytest.mark.slow
@torch.inference_mode()
def test_joined_sessions_go_on_as_each_alone(model):
    old, new = ([[5, 6, 3], [7, 3]], [(), ()]), ([[8, 9, 10, 11, 3]], [(12, 13, 14)])
    twice = [[opened(model, *each) for each in (old, new)] for _ in range(2)]
    (first, tokens), (second, others) = twice[0]
    (joined, _), (joining, _) = twice[1]
    for session in (first, joined):
        session.step(tokens)
        session.step(tokens + 3)
    join(joined, joining)
    for step in range(3):
        expected = torch.cat([first.step(tokens + step), second.step(others + step)])
        found = joined.step(torch.cat([tokens, others]) + step)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    for session, rows in ((joined, [0, 2]), (first, [0])):
        session.keep(torch.tensor(rows))
    trim(joined)
    expected = torch.cat([first.step(tokens[:1]), second.step(others)])
    torch.testing.assert_close(joined.step(torch.cat([tokens[:1], others])), expected, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_slots_that_no_row_needs_any_more_are_dropped(model):
    session, tokens = opened(model, [[5, 6, 7, 3]], [()])
    for _ in range(6):
        session.step(tokens)
    young, _ = opened(model, [[8, 3]], [()])
    join(session, young)
    session.step(torch.cat([tokens, tokens]))
    session.keep(torch.tensor([1]))
    trim(session)
    assert (session.past, session.caches[0].keys.shape[2], session.real.shape[-1]) == (1, 1, 2)


def test_only_a_session_whose_memory_lies_open_can_be_joined(model):
    session, _ = opened(model, [[5, 3]], [()])
    assert isinstance(session, JoinableSession)
    assert not isinstance(CopyingSession(torch.zeros(1, 1), width=1, vocabulary=9), JoinableSession)
