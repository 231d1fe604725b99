import pytest
import torch

from trimtab.decode.stream import stream_of
from trimtab.export.onnx.engine import open_onnx
from trimtab.export.onnx.session import Cache
from trimtab.inference import load_model
from trimtab.types import DecoderSession

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def both(trained_run, onnx_run):
    return load_model(f"{trained_run}@last", device="cpu"), open_onnx(onnx_run, device=CPU)


def sessions(both, rows, width, max_length=12):
    options = {"rows": len(rows), "width": width, "max_length": max_length}
    ours, theirs = both
    source = stream_of(rows, CPU)
    return [each.open_session(source, **options) for each in (ours.model, theirs)]


@torch.inference_mode()
@pytest.mark.parametrize("width", [1, 3])
def test_it_gives_the_logits_of_the_trainers_model_through_reorder_and_keep(both, width):
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 60, (size,), generator=draw).tolist() for size in (9, 2, 5, 1, 7)]
    pair = sessions(both, rows, width)
    assert isinstance(pair[1], DecoderSession)
    tokens = torch.full((5, width), both[0].tokenizer.start)
    for step in range(12):
        logits = [session.step(tokens) for session in pair]
        assert logits[1].shape == logits[0].shape
        assert logits[1].dtype == torch.float32
        torch.testing.assert_close(logits[1], logits[0], rtol=0, atol=1e-5)
        parents = torch.randint(width, (len(tokens), width), generator=draw)
        for session in pair:
            session.reorder(parents)
        if step in (3, 6):
            kept = torch.tensor([4, 0, 2]) if step == 3 else torch.tensor([1])
            for session in pair:
                session.keep(kept)
            tokens = tokens[kept]
        tokens = torch.randint(4, both[0].tokenizer.num_ids, tokens.shape, generator=draw)


@torch.inference_mode()
def test_no_step_asks_for_memory_for_what_is_remembered(both):
    session = sessions(both, [[5, 6, 3], [7, 3]], 2)[1]
    places = {buffer.data_ptr() for cache in session.caches for buffer in (cache.now, cache.next)}
    for _ in range(4):
        session.step(torch.full((2, 2), 5))
        session.reorder(torch.tensor([[1, 0], [1, 1]]))
    session.keep(torch.tensor([1]))
    session.step(torch.full((1, 2), 5))
    after = {buffer.data_ptr() for cache in session.caches for buffer in (cache.now, cache.next)}
    assert after == places


def test_hypotheses_are_chosen_out_of_what_was_written_last():
    cache = Cache(4, heads=2, size=3, max_length=5, of=torch.empty(0))
    written = torch.rand(4, 2, 1, 3)
    bound = cache.longer()
    assert bound.shape == (4, 2, 1, 3)
    bound.buffer[: written.numel()] = written.flatten()
    cache.choose(torch.tensor([3, 0, 0]))
    found = cache.bound()
    assert found.shape == (3, 2, 1, 3)
    assert found.buffer[:18].view(3, 2, 1, 3).equal(written[[3, 0, 0]])
