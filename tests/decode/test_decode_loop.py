import pytest
import torch

from tests.for_each import for_each
from trimtab.decode import decode_loop as module
from trimtab.decode.decode_loop import CHECK_EVERY, check_interval, decode_loop
from trimtab.decode.hypothesis import Hypothesis


class Countdown:
    """Row i is done after `lengths[i]` steps; its hypothesis is its own name."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths
        self.names = list(range(len(lengths)))
        self.done = torch.zeros(len(lengths), dtype=torch.bool)
        self.broken = torch.zeros(len(lengths), dtype=torch.bool)
        self.batch_sizes: list[int] = []

    def tokens(self):
        return torch.zeros(len(self.lengths), 1, dtype=torch.long)

    def extend(self, logits, *, step):
        self.batch_sizes.append(len(self.lengths))
        self.done = torch.tensor([step + 1 >= length for length in self.lengths])

    def keep(self, rows):
        self.lengths = [self.lengths[row] for row in rows]
        self.names = [self.names[row] for row in rows]
        self.done, self.broken = self.done[list(rows)], self.broken[list(rows)]

    def hypotheses(self, rows):
        return [Hypothesis(ids=[self.names[row]], score=0.0, normalised=0.0) for row in rows]


class Session:
    def __init__(self) -> None:
        self.kept: list[list[int]] = []

    def step(self, tokens):
        return torch.zeros(*tokens.shape, 1)

    def reorder(self, parents):
        raise AssertionError("nothing asked for it")

    def keep(self, rows):
        self.kept.append(rows.tolist())


@for_each("lengths", [[1], [3, 1, 2], [9, 2, 30, 4, 4, 17, 1, 30], list(range(1, 40)), [40] * 5])
def test_every_row_gets_its_own_result_whenever_it_leaves(lengths):
    found = decode_loop(Session(), Countdown(lengths), num_steps=max(lengths))
    assert [hypothesis.ids for hypothesis in found] == [[row] for row in range(len(lengths))]


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    gpu = check_interval(torch.device("cuda"))
    monkeypatch.setattr(module, "check_interval", lambda device: gpu)


def test_on_a_cpu_rows_leave_as_soon_as_a_tenth_of_the_batch_is_done():
    paths, session = Countdown([2, 3, *[9] * 18]), Session()
    decode_loop(session, paths, num_steps=40)
    assert session.kept == [list(range(2, 20))]  # one of twenty was not enough, two were
    assert paths.batch_sizes == [20] * 3 + [18] * 6


def test_the_batch_shrinks_only_when_a_quarter_of_it_is_done(as_on_a_gpu):
    paths, session = Countdown([4, 40, 40, 40, 40, 40, 40, 20]), Session()
    decode_loop(session, paths, num_steps=40)
    assert session.kept == [[1, 2, 3, 4, 5, 6]]  # one of eight was not enough, two were
    assert paths.batch_sizes == [8] * 20 + [6] * 20


def test_it_ends_at_the_first_look_after_the_last_row_is_done(as_on_a_gpu):
    paths = Countdown([5, 6])
    decode_loop(Session(), paths, num_steps=100)
    assert len(paths.batch_sizes) == 2 * CHECK_EVERY
