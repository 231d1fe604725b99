"""What is fed at once against the same symbols fed one by one."""

import pytest
import torch

from tests.small_run import small_parts
from trimtab.decode.stream import stream_of

SOURCES, GIVEN, NEXT = (
    [[5, 6, 7, 3], [8, 9, 3], [10, 3]],
    [[2, 11, 12, 13], [2], [2, 14]],
    [[20, 21], [22, 23], [24, 25]],
)


@pytest.mark.quick("{'model.norm_position': 'after'}")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model.positions": "rotary"},
        {"model.kv_heads": 1},
        {"model.heads": 4, "model.kv_heads": 2},
        {"model.norm_position": "after"},
    ],
    ids=str,
)
@torch.inference_mode()
def test_a_session_goes_on_from_what_was_fed_at_once_as_from_single_symbols(tmp_path, changes):
    # Of the last block only keys and values are read on; what comes out of a block is seen by the next one.
    opener = small_parts(tmp_path, **{"model.layers": 2, **changes}).model.eval()
    cpu = torch.device("cpu")
    max_seqlen = max(map(len, GIVEN))
    session = opener.open_session(stream_of(SOURCES, cpu), rows=3, width=2, max_length=20)
    tokens = torch.tensor([[2] * (max_seqlen - len(row)) + row for row in GIVEN])
    session.feed(tokens, torch.tensor([max_seqlen - len(row) for row in GIVEN]))
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


@pytest.mark.quick("learned")
@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal"])
@torch.inference_mode()
def test_a_row_goes_on_to_its_last_position_while_another_is_beyond_it(tmp_path, positions):
    """The rows end together only where they began together: the longest beginning reaches the end first."""
    model = small_parts(tmp_path, **{"model.layers": 2, "model.positions": positions}).model.eval()
    most, given = model.max_positions, torch.tensor([[2, 11, 12, 13], [0, 0, 0, 2]])
    session, alone = (
        model.open_session(
            stream_of(sources, torch.device("cpu")), rows=len(sources), width=1, max_length=most
        )
        for sources in (SOURCES[:2], SOURCES[1:2])
    )
    session.feed(given, torch.tensor([0, 3]))
    alone.step(torch.tensor([[2]]))
    written = torch.randint(5, 60, (most - 1, 1), generator=torch.Generator().manual_seed(1))
    for token in written:
        together, single = session.step(token.expand(2, 1)), alone.step(token[None])
        torch.testing.assert_close(together[1], single[0], rtol=1e-5, atol=1e-5)
    assert session.past == most + 3, "the first row is beyond its last position"
    assert alone.past == most
