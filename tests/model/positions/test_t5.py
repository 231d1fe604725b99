"""T5's bias against the buckets of its authors, and each way of computing it against the plain one."""

import math

import pytest
import torch

from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_encoder_decoder import build as build_encoder_decoder
from tests.streams import pack_of, stream_of
from trimtab.config.export_targets import obstacles
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.decoder_session import PromptSession
from trimtab.model.positions.t5 import RelativeBiasPositions, relative_buckets
from trimtab.model.static.opener import StaticOpener

SOURCES = [[5, 6, 7, 3], [8, 9, 3], [10, 3]]
TARGETS = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]


def shaken(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("positions.weight"):
                parameter.copy_(torch.linspace(-3, 3, parameter.numel()).view_as(parameter))
    return model.eval()


def decoder(**changes):
    return shaken(build_decoder(positions="t5", heads=4, **changes))


def encoder_decoder(**changes):
    return shaken(build_encoder_decoder(positions="t5", heads=4, **changes))


def plain_bucket(distance, bidirectional):
    """The authors' function for one number (`_relative_position_bucket` of mesh_tensorflow)."""
    count, first = (16, 16 * (distance > 0)) if bidirectional else (32, 0)
    distance = abs(distance) if bidirectional else max(0, -distance)
    if distance < count // 2:
        return first + distance
    share = math.log(distance / (count // 2)) / math.log(128 / (count // 2))
    return first + min(count - 1, count // 2 + int(share * (count - count // 2)))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_buckets_are_those_of_the_authors_code(bidirectional):
    found = relative_buckets(torch.arange(-300, 301), bidirectional=bidirectional).tolist()
    assert found == [plain_bucket(distance, bidirectional) for distance in range(-300, 301)]


def test_an_encoder_tells_what_comes_before_from_what_comes_after():
    both, causal = (RelativeBiasPositions(heads=2, bidirectional=way) for way in (True, False))
    row = torch.arange(5)
    assert both.bias(row, row).shape == (2, 5, 5)
    assert not torch.allclose(both.bias(row, row), both.bias(row, row).mT)
    later = causal.bias(row, row)[:, 0, :]
    assert torch.equal(later, later[:, :1].expand_as(later))


@pytest.mark.quick("decoder-{}", "encoder_decoder-{'kv_heads': 2}")
@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}], ids=str)
@pytest.mark.parametrize("build", [decoder, encoder_decoder])
@torch.no_grad()
def test_sentences_in_one_pack_are_what_they_are_alone(build, changes):
    model = build(**changes)
    together = model(pack_of(SOURCES, TARGETS))
    alone = [model(pack_of([source], [target])) for source, target in zip(SOURCES, TARGETS, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fixed", [False, True])
@torch.inference_mode()
def test_cached_decoding_equals_the_whole_forward(fixed):
    model = encoder_decoder()
    whole = (model(pack_of(SOURCES, TARGETS)) @ model.output_matrix.T)[:, : model.num_ids].view(3, 4, -1)
    opener = StaticOpener(model) if fixed else model
    session = opener.open_session(stream_of(SOURCES), rows=3, width=1, max_length=8)
    for i, column in enumerate(zip(*[[2, *row[:-1]] for row in TARGETS], strict=True)):
        found = session.step(torch.tensor(column)[:, None])
        torch.testing.assert_close(found[:, 0], whole[:, i], atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_a_prompt_that_is_fed_at_once_goes_on_as_the_whole_text():
    model = decoder()
    texts = [[4, 5, 6, 7, 8, 9], [14, 15, 16, 17]]
    session = PromptSession(model, rows=2, width=1)
    session.feed(torch.tensor([[4, 5, 6, 7], [0, 0, 14, 15]]), torch.tensor([0, 2]))
    session.step(torch.tensor([[8], [16]]))
    found = session.step(torch.tensor([[9], [17]]))[:, 0]
    hidden = model.decode(stream_of(texts))[[5, 9]]
    wanted = (hidden @ model.output_matrix.T)[:, : model.num_ids]
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4)


def test_each_distance_that_is_seen_learns():
    model = encoder_decoder()
    model(pack_of(SOURCES, TARGETS)).square().sum().backward()
    for table in (model.source_positions.weight, model.target_positions.weight):
        assert int((table.grad.abs().sum(1) > 0).sum()) >= 4
    assert model.role_of("source_positions.weight") == "embedding"


@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_exports_refuse_it_by_name(target):
    model = EncoderDecoderModel(dim=32, heads=4, layers=2, feed_forward=48, positions="t5")
    named = {problem.what.partition(":")[0] for problem in obstacles(target, model=model, transforms=())}
    assert "model.positions" in named
