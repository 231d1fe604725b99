"""A static session against the session whose rows it takes over."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_encoder_decoder import SOURCES, VARIANTS, build
from tests.streams import START, stream_of
from trimtab.model.static import session_memory as room_module
from trimtab.model.static import shapes
from trimtab.model.static.session import StaticSession, shape_of
from trimtab.model.static.session_memory import SessionMemory


@pytest.fixture(autouse=True)
def small_shapes(monkeypatch):
    """So that small sessions pass through several of them."""
    monkeypatch.setattr(shapes, "LEAST_HYPOTHESES", 2)
    monkeypatch.setattr(shapes, "FIRST_MEMORY", 2)
    monkeypatch.setattr(room_module, "FIRST_MEMORY", 2)


class Launches:
    """Calls steps, and remembers their shapes."""

    def __init__(self):
        self.shapes = []

    def __call__(self, shape, step):
        self.shapes.append(shape)
        step()


def both(model, sources, *, width, memory=None, max_length=16):
    words = {"rows": len(sources), "width": width, "max_length": max_length}
    opener = model
    plain, other = (opener.open_session(stream_of(sources), **words) for _ in range(2))
    memory = memory or SessionMemory(model)
    memory.reserve(shape_of(other, max_length))
    launches = Launches()
    return plain, StaticSession(other, memory, max_length=max_length, launch=launches), launches


def assert_same_step(plain, static, tokens):
    want, got = plain.step(tokens), static.step(tokens)
    assert got.dtype == want.dtype
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)


def go_on(plain, static, *, steps, generator):
    """Steps with any tokens, after each of which hypotheses change places and rows may be dropped."""
    rows, width = plain.rows, plain.width
    for _ in range(steps):
        assert_same_step(plain, static, torch.randint(4, 90, (rows, width), generator=generator))
        parents = torch.randint(0, width, (rows, width), generator=generator)
        for session in (plain, static):
            session.reorder(parents)
        if rows > 1 and torch.rand((), generator=generator) < 0.3:
            kept = torch.randperm(rows, generator=generator)[: rows - 1]
            for session in (plain, static):
                session.keep(kept)
            rows -= 1


@pytest.mark.quick(
    "{'heads': 4, 'kv_heads': 2, 'positions': 'rotary', 'activation': 'geglu', 'bias': False}",
    "{'norm_position': 'b2t', 'qk_norm': True, 'positions': 't5'}",
)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@torch.no_grad()
def test_steps_equal_those_of_the_plain_session(variant):
    plain, static, _ = both(build(**variant).eval(), SOURCES, width=3)
    go_on(plain, static, steps=12, generator=torch.Generator().manual_seed(0))


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(4, 89), min_size=1, max_size=40), min_size=1, max_size=9),
    st.integers(1, 5),
    st.integers(1, 16),
    st.integers(0, 2**20),
)
@torch.no_grad()
def test_any_rows_and_beams_go_on_as_in_the_plain_session(sources, width, steps, seed):
    model = build(heads=4, kv_heads=2, positions="rotary", layers=1).eval()
    model_room = SessionMemory(model)
    generator = torch.Generator().manual_seed(seed)
    sources = [row[:31] for row in sources]
    for count in (len(sources), 1):  # a second session in the memory of the first
        plain, static, _ = both(model, sources[:count], width=width, memory=model_room)
        go_on(plain, static, steps=steps, generator=generator)


@torch.no_grad()
def test_nothing_that_an_earlier_session_left_is_ever_read():
    model = build().eval()
    memory = SessionMemory(model)
    both(model, SOURCES, width=3, memory=memory)
    for name, buffer in memory.buffers.items():
        if buffer.is_floating_point():
            buffer.fill_(torch.nan)
        elif name == "ancestors":
            buffer.fill_(2**40)
    plain, static, _ = both(model, SOURCES, width=2, memory=memory)
    go_on(plain, static, steps=10, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_shapes_are_few_and_become_smaller_with_the_rows():
    model = build().eval()
    sources = [SOURCES[0]] * 5
    plain, static, launches = both(model, sources, width=2)
    tokens = torch.full((5, 2), START)
    for _ in range(3):
        assert_same_step(plain, static, tokens)
    for session in (plain, static):
        session.keep(torch.tensor([4, 1, 0]))
    for _ in range(2):
        assert_same_step(plain, static, tokens[:3])
    for session in (plain, static):
        session.keep(torch.tensor([2]))
    assert_same_step(plain, static, tokens[:1])
    found = [(shape.rows, shape.memory) for shape in launches.shapes]
    assert found == [(6, 2), (6, 2), (6, 4), (3, 4), (3, 8), (3, 8)]


@torch.no_grad()
def test_rows_that_are_dropped_before_the_first_step_are_dropped_in_both():
    plain, static, _ = both(build().eval(), SOURCES, width=2)
    for session in (plain, static):
        session.keep(torch.tensor([2, 0]))
        session.reorder(torch.tensor([[1, 0], [0, 0]]))
    go_on(plain, static, steps=3, generator=torch.Generator().manual_seed(2))


@torch.no_grad()
def test_a_session_that_is_fed_at_once_stays_plain():
    plain, static, launches = both(build().eval(), SOURCES, width=2)
    fed, skipped = torch.tensor([[START, 20], [START, START], [START, 21]]), torch.tensor([0, 1, 0])
    for session in (plain, static):
        session.feed(fed, skipped)
    go_on(plain, static, steps=4, generator=torch.Generator().manual_seed(3))
    assert launches.shapes == []


@pytest.mark.slow
@torch.no_grad()
def test_no_call_waits_for_the_device():
    # Tensors of this device have no values: whatever reads one on the host fails.
    model = build(heads=4, kv_heads=2, positions="rotary").eval().to("meta")
    words = {"rows": 3, "width": 2, "max_length": 16}
    session = model.open_session(stream_of(SOURCES).to(torch.device("meta")), **words)
    memory = SessionMemory(model)
    memory.reserve(shape_of(session, 16))
    static = StaticSession(session, memory, max_length=16, launch=Launches())
    for rows in (3, 3, 2, 1, 1):
        assert static.step(torch.zeros(rows, 2, dtype=torch.long, device="meta")).shape == (rows, 2, 90)
        static.reorder(torch.zeros(rows, 2, dtype=torch.long, device="meta"))
        static.keep(torch.arange(max(1, rows - 1) if static.past > 1 else rows, device="meta"))
