import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.test_decoder_only import VARIANTS, build, documents
from tests.model.test_prefix_attention import moved
from tests.streams import START
from trimtab.model.decoder_session import FIRST_SLOTS, PromptSession
from trimtab.types import DecoderSession, FeedsAtOnce

ROWS = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]


def opened(model, *, rows=3, width=1):
    return PromptSession(model, rows=rows, width=width)


def whole(model, row, *, prefix=0):
    """Logits of the next token after each of the row's, the start symbol before them; nothing remembered."""
    pack = moved(documents([[*row, 3]]), [prefix])
    return (model(pack) @ model.output_matrix.T)[:, : model.num_ids].detach()


def fed(rows):
    """Rows of different length as they are fed: moved to the right, and how much of each is no token."""
    length = max(map(len, rows))
    skipped = torch.tensor([length - len(row) for row in rows])
    return torch.tensor([[0] * (length - len(row)) + row for row in rows]), skipped


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.quick("{}", "{'prefix': 'bidirectional', 'residual': 'float32'}")
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@torch.no_grad()
def test_cached_steps_equal_the_whole_forward(variant):
    model = build(**variant).eval()
    session = opened(model)
    wanted = torch.stack([whole(model, row) for row in ROWS])
    for place, column in enumerate(zip(*[[START, *row] for row in ROWS], strict=True)):
        close(session.step(torch.tensor(column)[:, None])[:, 0], wanted[:, place])


@pytest.mark.quick("{'positions': 'sinusoidal', 'activation': 'geglu', 'norm_position': 'after'}")
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=12, deadline=None)
@given(
    prompts=st.lists(st.lists(st.integers(4, 89), max_size=6), min_size=1, max_size=4),
    width=st.integers(1, 3),
)
@torch.no_grad()
def test_prompts_of_different_length_go_on_as_if_each_were_alone(variant, prompts, width):
    model = build(**variant).eval()
    session = opened(model, rows=len(prompts), width=width)
    rows = [[START, *prompt] for prompt in prompts]
    if max(map(len, rows)) > 1:
        session.feed(*fed([row[:-1] for row in rows]))
    last = torch.tensor([row[-1] for row in rows])[:, None].expand(-1, width)
    first, second = session.step(last), session.step(torch.full_like(last, 50))
    for number, prompt in enumerate(prompts):
        wanted = whole(model, [*prompt, 50], prefix=len(prompt) + 1)
        for hypothesis in range(width):
            close(first[number, hypothesis], wanted[len(prompt)])
            close(second[number, hypothesis], wanted[len(prompt) + 1])


@pytest.mark.parametrize("how", ["causal", "bidirectional"])
@torch.no_grad()
def test_hypotheses_change_places_and_rows_end(how):
    model = build(heads=4, kv_heads=2, prefix=how).eval()
    session = opened(model, width=2)
    session.feed(*fed([[START, 10], [START], [START, 12]]))
    session.keep(torch.tensor([2, 1, 0]))
    session.step(torch.tensor([[60, 60], [61, 61], [62, 62]]))
    session.step(torch.tensor([[20, 30]] * 3))
    session.reorder(torch.tensor([[1, 0], [0, 0], [1, 1]]))
    session.keep(torch.tensor([2, 0]))
    got = session.step(torch.tensor([[50, 51], [52, 53]]))
    pasts = [[[10, 62, 30, 50], [10, 62, 30, 51]], [[12, 60, 30, 52], [12, 60, 20, 53]]]
    for row in range(2):
        for hypothesis in range(2):
            close(got[row, hypothesis], whole(model, pasts[row][hypothesis], prefix=3)[4])


@pytest.mark.slow
@torch.no_grad()
def test_a_cache_grows_by_doubling_and_loses_nothing():
    length = 2 * FIRST_SLOTS + 5
    model = build(max_positions=256).eval()
    session = opened(model, rows=1)
    row = torch.randint(4, 90, (length,), generator=torch.Generator().manual_seed(0)).tolist()
    steps = [session.step(torch.tensor([[token]]))[0, 0] for token in [START, *row]]
    close(torch.stack(steps), whole(model, row))
    assert session.caches[0].keys.shape[2] == 4 * FIRST_SLOTS


@torch.no_grad()
def test_fewer_heads_of_keys_make_the_cache_smaller():
    sizes = []
    for kept in (4, 1):
        session = opened(build(heads=4, kv_heads=kept), width=2)
        session.step(torch.full((3, 2), START))
        sizes.append(session.caches[0].keys.numel())
    assert sizes[0] == 4 * sizes[1]


def test_the_bits_of_a_row_do_not_depend_on_what_it_is_padded_with():
    model = build().eval()
    found = []
    for filler in (0, 77):
        session = opened(model, rows=2)
        tokens, skipped = fed([[START, 20, 21], [START]])
        session.feed(torch.where(tokens == 0, filler, tokens), skipped)
        found.append(session.step(torch.tensor([[22], [30]])).detach())
    assert torch.equal(*found)


def test_it_is_what_a_search_asks_for():
    session = opened(build())
    assert isinstance(session, DecoderSession)
    assert isinstance(session, FeedsAtOnce)


@torch.no_grad()
def test_what_is_fed_as_a_text_is_read_causally_by_a_model_with_prefixes_too():
    model = build(prefix="bidirectional").eval()
    for prefix, rows in ((False, 0), (True, 4)):
        session = PromptSession(model, rows=1, width=1, prefix=prefix)
        session.feed(*fed([[START, 20, 21]]))
        close(session.step(torch.tensor([[22]]))[0, 0], whole(model, [20, 21, 22], prefix=rows)[-1])
