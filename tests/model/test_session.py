import pytest
import torch

from tests.model.test_encoder_decoder import FEW, SOURCES, VARIANTS, build, logits
from tests.streams import START, stream_of


def open_session(model, width=1):
    return model.open_session(stream_of(SOURCES), rows=3, width=width, max_length=16)


@pytest.mark.quick(variant=FEW)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@torch.no_grad()
def test_cached_steps_equal_the_whole_forward(variant):
    model = build(**variant).eval()
    targets = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]
    whole = logits(model, SOURCES, targets).view(3, 4, -1)
    session = open_session(model)
    for i, column in enumerate(zip(*[[START, *row[:-1]] for row in targets], strict=True)):
        stepped = session.step(torch.tensor(column)[:, None])
        torch.testing.assert_close(stepped[:, 0], whole[:, i], atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_a_reordered_hypothesis_goes_on_from_its_parent():
    model = build().eval()
    session = open_session(model, width=2)
    session.step(torch.full((3, 2), START))
    session.step(torch.tensor([[20, 30]] * 3))
    session.reorder(torch.tensor([[1, 0], [1, 1], [0, 0]]))
    got = session.step(torch.tensor([[50, 51]] * 3))
    pasts = [[30, 20], [30, 30], [20, 20]]
    for row, source in enumerate(SOURCES):
        for j, token in enumerate((50, 51)):
            want = logits(model, [source], [[pasts[row][j], token, 3]])[2]
            torch.testing.assert_close(got[row, j], want, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_kept_rows_go_on_as_if_alone():
    model = build().eval()
    session = open_session(model, width=2)
    session.step(torch.full((3, 2), START))
    session.step(torch.tensor([[20, 21], [30, 31], [40, 41]]))
    session.keep(torch.tensor([2, 0]))
    got = session.step(torch.tensor([[50, 51], [52, 53]]))
    want = logits(model, [SOURCES[2]], [[41, 51, 3]])[2]
    torch.testing.assert_close(got[0, 1], want, atol=2e-5, rtol=1e-4)
    want = logits(model, [SOURCES[0]], [[20, 52, 3]])[2]
    torch.testing.assert_close(got[1, 0], want, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_fewer_heads_of_keys_make_the_cache_smaller():
    sizes = []
    for kept in (4, 1):
        session = open_session(build(heads=4, kv_heads=kept).eval(), width=2)
        session.step(torch.full((3, 2), START))
        parts = (session.caches[0].keys, session.caches[0].values, session.caches[0].source_keys)
        sizes.append([part.numel() for part in parts])
    assert sizes[0] == [4 * size for size in sizes[1]]


@torch.no_grad()
def test_grouped_heads_go_on_rightly_after_beams_change_places_and_rows_end():
    model = build(heads=4, kv_heads=2, positions="rotary").eval()
    session = open_session(model, width=2)
    session.step(torch.full((3, 2), START))
    session.step(torch.tensor([[20, 30]] * 3))
    session.reorder(torch.tensor([[1, 0]] * 3))
    session.keep(torch.tensor([2, 0]))
    got = session.step(torch.tensor([[50, 51], [52, 53]]))
    for place, (source, past, token) in enumerate([(2, 30, 50), (2, 20, 51), (0, 30, 52), (0, 20, 53)]):
        want = logits(model, [SOURCES[source]], [[past, token, 3]])[2]
        torch.testing.assert_close(got[place // 2, place % 2], want, atol=2e-5, rtol=1e-4)
