import torch

from tests.export.text_models import network
from trimtab.decode.continuing import Continues, OpenPrompts
from trimtab.model.decoder_session import PromptSession
from trimtab.model.prompted import Prompted


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


@torch.no_grad()
def test_a_model_with_prefixes_reads_a_prompt_as_it_learned_to_read_texts():
    model = network(50, prefix="bidirectional")
    fed, last = torch.tensor([[1, 20, 21, 22]]), torch.tensor([[23]])
    asked = Prompted(model).open_prompts(rows=1, width=1, max_length=8)
    causal, both_ways = (PromptSession(model, rows=1, width=1, prefix=prefix) for prefix in (False, True))
    for session in (asked, causal, both_ways):
        session.feed(fed, torch.tensor([0]))
    logits, as_text, as_prefix = (session.step(last) for session in (asked, causal, both_ways))
    assert torch.equal(logits, as_text)
    assert (logits - as_prefix).abs().max() > 1e-4
