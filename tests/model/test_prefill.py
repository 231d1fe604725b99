"""What is fed at once against the same symbols fed one by one."""

import pytest
import torch

from tests.small_run import small_parts
from trimtab.decode.stream import stream_of
from trimtab.model.session import SessionOpener

SOURCES, GIVEN, NEXT = (
    [[5, 6, 7, 3], [8, 9, 3], [10, 3]],
    [[2, 11, 12, 13], [2], [2, 14]],
    [[20, 21], [22, 23], [24, 25]],
)


@pytest.mark.parametrize(
    "changes",
    [{}, {"model.positions": "rotary"}, {"model.kv_heads": 1}, {"model.norm_position": "after"}],
)
@torch.inference_mode()
def test_a_session_goes_on_from_what_was_fed_at_once_as_from_single_symbols(tmp_path, changes):
    opener = SessionOpener(small_parts(tmp_path, **changes).model.eval())
    cpu = torch.device("cpu")
    longest = max(map(len, GIVEN))
    session = opener.open_session(stream_of(SOURCES, cpu), rows=3, width=2, max_length=20)
    tokens = torch.tensor([[2] * (longest - len(row)) + row for row in GIVEN])
    session.feed(tokens, torch.tensor([longest - len(row) for row in GIVEN]))
    first = session.step(torch.tensor(NEXT))
    session.reorder(torch.tensor([[1, 0]] * 3))
    session.keep(torch.tensor([2, 0]))
    second = session.step(torch.tensor(NEXT)[[2, 0]])
    for place, row in enumerate([2, 0]):
        alone = opener.open_session(stream_of([SOURCES[row]], cpu), rows=1, width=2, max_length=20)
        for token in GIVEN[row]:
            alone.step(torch.full((1, 2), token))
        torch.testing.assert_close(alone.step(torch.tensor([NEXT[row]]))[0], first[row], rtol=1e-5, atol=1e-5)
        alone.reorder(torch.tensor([[1, 0]]))
        torch.testing.assert_close(
            alone.step(torch.tensor([NEXT[row]]))[0], second[place], rtol=1e-5, atol=1e-5
        )
