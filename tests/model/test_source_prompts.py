import pytest
import torch

from tests.streams import stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.source_prompts import SourcePrompts
from trimtab.types import CutsOutput, DecoderSession, Stream, Translates

START, END, SEPARATOR = 2, 3, 5
SOURCES = [[10, 11, 12, END], [13, END], [14, 15, END]]
WRITTEN = [7, 8, 9, 7]


def model_of(prefix):
    config = DecoderModel(dim=32, heads=4, kv_heads=2, layers=2, feed_forward=48, prefix=prefix)
    return DecoderOnly(config, num_ids=20, max_positions=64, seed=1).eval()


def logits_of(model, ids, given):
    """Of the next token behind each of `ids`, by a pass over all of them as in training."""
    places = torch.arange(len(ids))
    ends = torch.tensor([0, len(ids)], dtype=torch.int32)
    prefix = torch.tensor([given], dtype=torch.int32)
    stream = Stream(torch.tensor(ids), places, torch.zeros_like(places), ends, len(ids), prefix)
    return (model.decode(stream) @ model.output_matrix.T)[:, :20]


@pytest.mark.parametrize("prefix", ["causal", "bidirectional"])
@torch.no_grad()
def test_a_translation_is_scored_as_it_is_trained(prefix):
    model = model_of(prefix)
    opener = SourcePrompts(model, start=START, separator=SEPARATOR)
    assert isinstance(opener, Translates)
    session = opener.open_session(stream_of(SOURCES), rows=3, width=2, max_length=8)
    assert isinstance(session, DecoderSession)
    fed = [START, *WRITTEN]
    steps = [session.step(torch.full((3, 2), token)) for token in fed]
    for row, source in enumerate(SOURCES):
        whole = [START, *source[:-1], SEPARATOR, *WRITTEN]
        expected = logits_of(model, whole, len(source) + 1)[len(source) :]
        for step, wanted in zip(steps, expected, strict=True):
            assert torch.allclose(step[row], wanted.expand(2, -1), atol=1e-4)


@torch.no_grad()
def test_rows_and_hypotheses_can_be_chosen():
    session = SourcePrompts(model_of("causal"), start=START, separator=SEPARATOR).open_session(
        stream_of(SOURCES), rows=3, width=2, max_length=8
    )
    session.step(torch.full((3, 2), START))
    session.step(torch.tensor([[7, 8], [8, 9], [9, 7]]))
    session.reorder(torch.tensor([[1, 1], [0, 1], [0, 0]]))
    session.keep(torch.tensor([0, 2]))
    kept = session.step(torch.full((2, 2), 6))
    expected = logits_of(session.session.model, [START, 10, 11, 12, SEPARATOR, 8, 6], 5)[-1]
    assert torch.allclose(kept[0, 0], expected, atol=1e-4)


@torch.no_grad()
def test_the_output_can_be_cut_to_some_ids():
    opener = SourcePrompts(model_of("causal"), start=START, separator=SEPARATOR)
    whole, cut = (opener.open_session(stream_of(SOURCES), rows=3, width=2, max_length=8) for _ in range(2))
    assert isinstance(cut, CutsOutput)
    ids = torch.tensor([END, 7, 9])
    cut.cut_output(ids)
    for token in (START, 7):
        fed = torch.full((3, 2), token)
        assert torch.allclose(cut.step(fed), whole.step(fed)[..., ids], atol=1e-5)
