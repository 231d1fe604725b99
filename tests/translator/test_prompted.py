import torch

from tests.export.text_models import network
from trimtab.decode.continuing import Continues, OpenPrompts
from trimtab.translator.prompted import Prompted


@torch.no_grad()
def test_a_decoder_is_opened_for_prompts_whatever_they_are_filled_up_to():
    model = Prompted(network(50))
    assert isinstance(model, Continues)
    beyond = model.model.max_positions + 10
    session = model.open_prompts(rows=2, width=1, max_length=beyond)
    assert isinstance(session, OpenPrompts)
    for _ in range(beyond):  # what a short text beside a long one may ask for; no text is that long itself
        logits = session.step(torch.full((2, 1), 5))
    assert torch.isfinite(logits).all()
