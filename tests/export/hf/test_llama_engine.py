import pytest
import torch

from tests.export.text_models import WINDOW, network, vocabulary
from trimtab.decode.continuing import Continues, OpenPrompts
from trimtab.errors import InputError
from trimtab.export.hf import llama
from trimtab.export.hf.llama_engine import open_llama
from trimtab.model.prompted import Prompted

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=[{}, {"kv_heads": 2, "qk_norm": True}], ids=["Llama", "Qwen3"])
def both(request, tmp_path_factory):
    """A model of ours, and what the library makes of its export."""
    tokenizer, folder = vocabulary("bytes"), tmp_path_factory.mktemp("model")
    model = network(tokenizer.num_ids, **request.param)
    llama.write(model, tokenizer, folder, window=WINDOW)
    return model, open_llama(folder, model.config, tokenizer, window=WINDOW, device=CPU)


def test_they_are_what_generation_needs(both):
    _, theirs = both
    assert isinstance(theirs, Continues)
    assert isinstance(theirs.open_prompts(rows=1, width=1, max_length=4), OpenPrompts)


@torch.inference_mode()
def test_sessions_give_the_same_logits_through_everything_that_a_session_does(both):
    draw = torch.Generator().manual_seed(3)

    def tokens(*shape):
        return torch.randint(4, 260, shape, generator=draw)

    sessions = [each.open_prompts(rows=4, width=3, max_length=40) for each in (Prompted(both[0]), both[1])]
    fed, skipped = tokens(4, 11), torch.tensor([0, 4, 10, 11])
    for session in sessions:
        session.feed(fed, skipped)
    for rows in (4, 4, 2, 2):
        if rows == 2 and sessions[0].rows == 4:
            for session in sessions:
                session.keep(torch.tensor([3, 1]))
        given = tokens(rows, 3)
        ours, theirs = (session.step(given) for session in sessions)
        assert ours.shape == theirs.shape == (rows, 3, 260)
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_a_session_may_begin_without_a_prompt(both):
    steps = torch.randint(4, 260, (6, 2, 1), generator=torch.Generator().manual_seed(4))
    sessions = [each.open_prompts(rows=2, width=1, max_length=6) for each in (Prompted(both[0]), both[1])]
    for given in steps:
        ours, theirs = (session.step(given) for session in sessions)
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    tokenizer = vocabulary("bytes")
    model = network(tokenizer.num_ids)
    with torch.no_grad():
        model.decoder.norm.weight[0] = torch.nan
    llama.write(model, tokenizer, tmp_path, window=WINDOW)
    with pytest.raises(InputError, match=r"not finite in model\.norm\.weight"):
        open_llama(tmp_path, model.config, tokenizer, window=WINDOW, device=CPU)


def test_a_folder_that_the_library_cannot_read_is_told(tmp_path):
    tokenizer = vocabulary("bytes")
    model = network(tokenizer.num_ids)
    llama.write(model, tokenizer, tmp_path, window=WINDOW)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 40)
    with pytest.raises(InputError, match="not the weights of this export"):
        open_llama(tmp_path, model.config, tokenizer, window=WINDOW, device=CPU)
