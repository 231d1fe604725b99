import pytest
import torch
import torch.nn.functional as F

from tests.streams import stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.attention_cached import at_any_length
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.decoder_session import PromptSession
from trimtab.model.encoder_decoder import EncoderDecoder


def translating():
    model = EncoderDecoder(EncoderDecoderModel(preset="tiny"), num_ids=64, max_positions=32, seed=1).eval()
    return model.open_session(stream_of([[5, 6, 3], [7, 3]]), rows=2, width=1, max_length=8)


def writing():
    model = DecoderOnly(DecoderModel(preset="tiny"), num_ids=64, max_positions=32, seed=1).eval()
    return PromptSession(model, rows=2, width=1)


@pytest.fixture
def planned(monkeypatch):
    """Whether a kernel with plans was allowed, at each attention."""
    seen, real = [], F.scaled_dot_product_attention

    def watched(*given, **options):
        seen.append(torch.backends.cuda.cudnn_sdp_enabled())
        return real(*given, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    return seen


@torch.no_grad()
@pytest.mark.parametrize("begin", [translating, writing])
def test_no_step_of_a_growing_cache_may_take_a_kernel_that_is_planned_for_its_length(begin, planned):
    session = begin()
    planned.clear()  # the encoder reads each source once
    before = torch.backends.cuda.cudnn_sdp_enabled()
    session.feed(torch.tensor([[5, 6], [5, 7]]), torch.tensor([0, 0]))
    session.step(torch.tensor([[8], [9]]))
    session.step(torch.tensor([[4], [5]]))
    assert planned
    assert not any(planned)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_what_is_decorated_may_be_called_again_and_may_fail():
    @at_any_length()
    def call(fail=False):
        if fail:
            raise ValueError
        return torch.backends.cuda.cudnn_sdp_enabled()

    before = torch.backends.cuda.cudnn_sdp_enabled()
    assert [call(), call()] == [False, False]
    with pytest.raises(ValueError):
        call(fail=True)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
