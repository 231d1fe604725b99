from types import SimpleNamespace

import pytest
import torch

from tests.model.module.test_x_transformers import translator, x_decoder
from tests.model.test_encoder_decoder import SOURCES
from tests.streams import pack_of, stream_of
from trimtab.model.module.x_session import UncachedPrompts, UncachedSession


@pytest.mark.slow
def test_prompts_of_several_lengths_continue_as_the_whole_text_is_scored():
    model = x_decoder(use_abs_pos_emb=True, num_memory_tokens=1).eval()
    prompts, more = [[2, 20, 21], [2, 22, 23, 24, 25]], [[30, 31], [32, 33]]
    tokens = torch.tensor([[0, 0, *prompts[0]], prompts[1]])
    session = model.open_prompts(rows=2, width=2)
    session.feed(tokens[:, :-1], torch.tensor([2, 0]))
    found = [session.step(tokens[:, -1:].expand(2, 2))]
    found += [session.step(torch.tensor(more)[:, [at]].expand(2, 2)) for at in range(2)]
    session.keep(torch.tensor([1]))
    found.append(session.step(torch.tensor([[34, 35]])))
    for row, (prompt, rest) in enumerate(zip(prompts, more, strict=True)):
        wanted = model.logits(model.decode(stream_of([[*prompt, *rest]])))[len(prompt) - 1 :]
        for step, each in enumerate(wanted):
            for width in range(2):
                torch.testing.assert_close(found[step][row, width], each, rtol=1e-4, atol=1e-4)
    wanted = model.logits(model.decode(stream_of([[*prompts[1], *more[1], 35]])))[-1]
    torch.testing.assert_close(found[-1][0, 1], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_search_step_by_step_scores_what_the_whole_translation_scores():
    model = translator(options={"rotary_pos_emb": True}).eval()
    batch = pack_of(SOURCES, [[20, 21, 22, 3]] * len(SOURCES))
    wanted = model.logits(model(batch)).view(len(SOURCES), 4, -1)
    session = model.open_session(batch.source, rows=len(SOURCES), width=2, max_length=8)
    inputs = batch.target.ids.view(len(SOURCES), 4)
    for step in range(4):
        found = session.step(inputs[:, [step]].expand(-1, 2))
        session.reorder(torch.tensor([[1, 0]] * len(SOURCES)))
        torch.testing.assert_close(found[:, 1], wanted[:, step], rtol=1e-4, atol=1e-4)


def test_texts_take_their_memory_and_lengths_along_when_they_are_reordered_and_kept():
    """Each vector tells the row of its memory, the tokens of its text and their number."""

    def hidden_of(ids, memory, real):
        sums, steps = ids.cumsum(1), torch.ones_like(ids).cumsum(1)
        return torch.stack([memory[:, :1, 0].expand_as(ids), sums, steps], -1).float()

    memory = torch.tensor([[[1.0]], [[2.0]]])
    session = UncachedSession(
        hidden_of, torch.eye(3), memory=memory, real=torch.ones(2, 1, dtype=torch.bool), width=2
    )
    session.step(torch.tensor([[10, 20], [30, 40]]))
    session.reorder(torch.tensor([[1, 1], [1, 0]]))
    found = session.step(torch.tensor([[1, 2], [3, 4]]))
    assert found.tolist() == [[[1, 21, 2], [1, 22, 2]], [[2, 43, 2], [2, 34, 2]]]
    session.keep(torch.tensor([1]))
    session.cut_output(torch.tensor([1, 0]))
    assert session.step(torch.tensor([[5, 6]])).tolist() == [[[48, 2], [40, 2]]]

    model = SimpleNamespace(output_matrix=torch.eye(2), pad=0, max_positions=9)
    model.hidden_of = lambda ids: torch.stack([ids.cumsum(1), torch.ones_like(ids).cumsum(1)], -1).float()
    prompts = UncachedPrompts(model, rows=2, width=1)
    prompts.feed(torch.tensor([[0, 10], [20, 30]]), torch.tensor([1, 0]))
    assert prompts.step(torch.tensor([[1], [2]])).tolist() == [[[11, 2]], [[52, 3]]]
    prompts.keep(torch.tensor([1, 0]))
    assert prompts.step(torch.tensor([[3], [4]])).tolist() == [[[55, 4]], [[15, 3]]]
