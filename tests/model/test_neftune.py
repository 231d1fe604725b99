import math

import pytest
import torch

from tests.causal_folder import causal_folder
from trimtab.config.decoder_model import DecoderModel
from trimtab.decode.stream import stream_of
from trimtab.inference.pretrained import load_pretrained
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.neftune import with_noise

CPU = torch.device("cpu")
ROWS = [[5] * 4, [6] * 16]


def test_noise_is_uniform_within_what_the_length_of_each_text_allows():
    lengths = torch.tensor([4] * 200 + [64] * 200)
    torch.manual_seed(0)
    noise = with_noise(torch.zeros(400, 25), lengths, alpha=5.0)
    for length, part in ((4, noise[:200]), (64, noise[200:])):
        bound = 5.0 / math.sqrt(length * 25)
        assert float(part.abs().max()) == pytest.approx(bound, rel=0.01)
        assert float(part.abs().max()) <= bound
        assert float(part.std()) == pytest.approx(bound / math.sqrt(3), rel=0.03)
        assert abs(float(part.mean())) < 0.03 * bound


@pytest.fixture(params=["native", "module"])
def model(request, tmp_path):
    if request.param == "native":
        config = DecoderModel(dim=32, heads=2, layers=1, feed_forward=48)
        return DecoderOnly(config, num_ids=40, max_positions=64, seed=1)
    found = load_pretrained(str(causal_folder(tmp_path / "base", "gpt2"))).model
    for module in found.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return found


def test_texts_of_a_pack_get_noise_by_their_own_lengths_in_training_alone(model):
    """What the first layer sees, minus what it sees in evaluation."""
    stream, seen = stream_of(ROWS, CPU), []
    model.blocks[0].register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    model.neftune_alpha = 5.0
    for training, seed in ((False, 0), (True, 0), (True, 0), (True, 1)):
        model.train(training)
        torch.manual_seed(seed)
        model.decode(stream)
    clean, first, again, other = seen
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    noise = (first - clean).abs()
    short, long = (noise[:4], noise[4:20]) if noise.ndim == 2 else (noise[0, :4], noise[1])
    for length, part in ((4, short), (16, long)):
        bound = 5.0 / math.sqrt(length * 32)
        assert 0.9 * bound < float(part.max()) <= bound * 1.0001


def test_without_it_nothing_is_drawn(model):
    model.train()
    before = torch.get_rng_state()
    model.decode(stream_of(ROWS, CPU))
    assert torch.equal(before, torch.get_rng_state())
