from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trimtab.flow import Pack, Ragged, Stream, Window

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=6)


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(index).tolist() for index in range(len(ragged))]


@given(ROWS)
def test_ragged_rows_are_the_rows_that_were_put_in(rows):
    ragged = Ragged.of(rows)
    assert rows_of(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@given(st.lists(ROWS, max_size=4))
def test_joined_rows_follow_one_another(parts):
    joined = Ragged.joined([Ragged.of(rows) for rows in parts])
    assert rows_of(joined) == [row for rows in parts for row in rows]


@given(ROWS, st.data())
def test_a_range_of_rows_is_a_view_of_them(rows, data):
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    ragged = Ragged.of(rows)
    part = ragged.between(start, stop)
    assert rows_of(part) == rows[start:stop]
    assert part.offsets[0] == 0
    assert part.values.size == 0 or np.shares_memory(part.values, ragged.values)


@given(ROWS, st.randoms())
def test_rows_can_be_taken_in_any_order_and_again(rows, random):
    order = [random.randrange(len(rows)) for _ in range(7)] if rows else []
    assert rows_of(Ragged.of(rows).take(np.array(order, np.int64))) == [rows[index] for index in order]


def test_a_window_counts_targets_and_all_tokens():
    window = Window(
        Ragged.of([[1, 2], [3]]), Ragged.of([[4, 5, 6], [7]]), np.zeros(2, np.int32), np.arange(2), position=2
    )
    assert (window.num_targets, window.num_tokens) == (4, 7)


def stream() -> Stream:
    return Stream(
        torch.tensor([5, 6, 7]), torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1]),
        torch.tensor([0, 2, 3], dtype=torch.int32), longest=2,
    )  # fmt: skip


def test_a_pack_moves_as_a_whole():
    pack = Pack(stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6)
    moved = pack.to(torch.device("meta"))
    assert {moved.source.ids.device.type, moved.target.boundaries.device.type, moved.labels.device.type} == {
        "meta"
    }
    assert (moved.num_segments, moved.num_targets, moved.num_tokens, moved.source.longest) == (2, 3, 6, 2)


def test_a_prefix_moves_with_its_stream_and_may_be_missing():
    prefix = torch.tensor([1, 0], dtype=torch.int32)
    whole = replace(stream(), prefix=prefix)
    assert whole.to(torch.device("meta")).prefix.device.type == "meta"
    assert torch.equal(whole.to(torch.device("cpu")).prefix, prefix)
    assert stream().to(torch.device("meta")).prefix is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_pack_can_be_pinned():
    pack = Pack(
        stream(), stream(), torch.tensor([6, 7, 8]), num_segments=2, num_targets=3, num_tokens=6
    ).pin()
    assert pack.labels.is_pinned()
    assert pack.source.ids.is_pinned()
