import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.static.test_attend import ROOM, ROWS, WIDTH, written_out
from tests.model.test_encoder_decoder import build
from tests.model.tiled.where import DEVICE
from trimtab.model.static.kernel import attend_by_kernel
from trimtab.model.static.session_memory import SessionMemory
from trimtab.model.static.shapes import Shape
from trimtab.model.static.step import static_step

pytestmark = pytest.mark.gpu if DEVICE.type == "cuda" else []


def inputs(*, heads, kept, memory, seed, size=16, dtype=torch.float32):
    """Queries as a view of a wider map, keys, values and ancestors."""
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(ROWS * WIDTH, heads + 2 * kept, size, generator=generator)[:, :heads]
    keys, values = (torch.randn(ROWS, WIDTH, memory, kept, size, generator=generator) for _ in range(2))
    ancestors = torch.randint(0, WIDTH, (ROWS, WIDTH, memory), generator=generator)
    return *(each.to(DEVICE, dtype) for each in (queries, keys, values)), ancestors.to(DEVICE)


@pytest.mark.parametrize(("heads", "kept"), [(2, 2), (4, 2), (3, 1)])
@settings(max_examples=4, deadline=None)
@given(past=st.integers(0, ROOM - 1), seed=st.integers(0, 2**20))
def test_each_hypothesis_reads_what_its_ancestors_wrote_and_nothing_else(heads, kept, past, seed):
    queries, keys, values, ancestors = inputs(heads=heads, kept=kept, memory=ROOM, seed=seed)
    keys[:, :, past + 1 :] = values[:, :, past + 1 :] = torch.nan
    ancestors[:, :, past + 1 :] = 2**40
    found = attend_by_kernel(queries, keys, values, ancestors, torch.tensor([past], device=DEVICE))
    want = written_out(*(each.cpu() for each in (queries, keys, values, ancestors)), past)
    torch.testing.assert_close(found.cpu().double(), want, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("past", [31, 32, 69])
def test_longer_pasts_are_read_stretch_by_stretch(past):
    queries, keys, values, ancestors = inputs(heads=2, kept=1, memory=96, seed=past, size=32)
    keys[:, :, past // 2] *= 30  # so that the largest score comes late
    found = attend_by_kernel(queries, keys, values, ancestors, torch.tensor([past], device=DEVICE))
    want = written_out(*(each.cpu() for each in (queries, keys, values, ancestors)), past)
    torch.testing.assert_close(found.cpu().double(), want, atol=1e-5, rtol=1e-5)


def test_what_is_not_a_number_is_not_hidden():
    queries, keys, values, ancestors = inputs(heads=2, kept=2, memory=ROOM, seed=0)
    queries[1] = torch.nan
    found = attend_by_kernel(queries, keys, values, ancestors, torch.tensor([5], device=DEVICE))
    assert found[1].isnan().all()
    assert found[[0, *range(2, len(found))]].isfinite().all()


def test_half_precision_is_as_exact_as_its_rounding():
    queries, keys, values, ancestors = inputs(heads=2, kept=2, memory=ROOM, seed=1, dtype=torch.float16)
    found = attend_by_kernel(queries, keys, values, ancestors, torch.tensor([7], device=DEVICE))
    want = written_out(*(each.cpu() for each in (queries, keys, values, ancestors)), 7)
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.cpu().double(), want, atol=1e-3, rtol=2e-3)


@torch.no_grad()
def test_steps_by_the_kernel_equal_those_that_gather():
    model = build(heads=2, kv_heads=1, layers=1).eval().to(DEVICE)
    shape = Shape(rows=2, width=2, source=4, memory=8)
    rooms = [SessionMemory(model) for _ in range(2)]
    for memory, by_kernel in zip(rooms, (True, False), strict=True):
        memory.by_kernel = by_kernel
        memory.reserve(shape)
        memory.place(shape).real[..., 0] = True
    for token in (2, 30, 40):
        for memory in rooms:
            place = memory.place(shape)
            place.tokens.copy_(torch.tensor([[token, 5], [6, token]]))
            place.ancestors.copy_(place.ancestors.flip(1))
            static_step(model, place)
        first, second = (memory.place(shape).logits for memory in rooms)
        torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-4)
