"""ALiBi against the formula of its paper, token by token, and each way of computing it against the plain one."""

import math

import pytest
import torch

from tests.model.test_decoder_only import build as build_decoder
from tests.model.test_encoder_decoder import build as build_encoder_decoder
from tests.streams import pack_of, stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.export_targets import obstacles
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.attention import attend
from trimtab.model.decoder_session import PromptSession
from trimtab.model.positions.alibi import AlibiPositions, alibi_slopes
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.static.opener import StaticOpener

SIZES = {"dim": 32, "heads": 4, "layers": 2, "feed_forward": 48}
SOURCES = [[5, 6, 7, 3], [8, 9, 3], [10, 3]]
TARGETS = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 3]]


def decoder(**changes):
    return build_decoder(positions="alibi", heads=4, **changes).eval()


def encoder_decoder(**changes):
    return build_encoder_decoder(decoder_positions="alibi", heads=4, **changes).eval()


def test_slopes_are_those_of_the_paper_and_its_code():
    assert alibi_slopes(8).tolist() == [2.0**-n for n in range(1, 9)]
    torch.testing.assert_close(alibi_slopes(2), torch.tensor([2**-4.0, 2**-8.0]))
    twelve = [*(2.0**-n for n in range(1, 9)), *(2 ** -(n / 2) for n in (1, 3, 5, 7))]
    torch.testing.assert_close(alibi_slopes(12), torch.tensor(twelve))


def test_attention_equals_the_formula_written_out_for_each_token():
    generator = torch.Generator().manual_seed(0)
    queries, keys, values = (torch.randn(7, 4, 8, generator=generator).double() for _ in range(3))
    stream = stream_of([[4, 5, 6, 7, 3], [8, 3]])
    bias = AlibiPositions(heads=4).of_stream(stream).bias
    layout = sequence_layout(stream, padded=True)
    found = attend(queries, keys, values, of=layout, to=layout, causal=True, bias=bias)
    for first, length in ((0, 5), (5, 2)):
        for head, slope in enumerate((2**-2, 2**-4, 2**-6, 2**-8)):
            for i in range(length):
                scores = [
                    float(queries[first + i, head] @ keys[first + j, head]) / math.sqrt(8) - slope * (i - j)
                    for j in range(i + 1)
                ]
                weights = torch.tensor(scores, dtype=torch.float64).softmax(0)
                wanted = weights @ values[first : first + i + 1, head]
                torch.testing.assert_close(found[first + i, head], wanted)


@pytest.mark.quick("encoder_decoder-{'norm_position': 'after'}")
@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}, {"norm_position": "after"}], ids=str)
@pytest.mark.parametrize("build", [decoder, encoder_decoder])
@torch.no_grad()
def test_sentences_in_one_pack_are_what_they_are_alone(build, changes):
    model = build(**changes)
    together = model(pack_of(SOURCES, TARGETS))
    alone = [model(pack_of([source], [target])) for source, target in zip(SOURCES, TARGETS, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("build", [decoder, encoder_decoder])
@torch.no_grad()
def test_positions_change_what_is_predicted_and_a_flat_kernel_is_replaced(build):
    model, pack = build(), pack_of(SOURCES, TARGETS)
    plain = model(pack)
    model.kernel = "varlen"
    assert model.padded
    assert torch.equal(model(pack), plain)
    model.target_positions.slopes.zero_()
    assert not torch.allclose(model(pack), plain, atol=1e-3)


@pytest.mark.quick("False-{}", "True-{'kv_heads': 2}")
@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}], ids=str)
@pytest.mark.parametrize("fixed", [False, True])
@torch.inference_mode()
def test_cached_decoding_equals_the_whole_forward(changes, fixed):
    model = encoder_decoder(**changes)
    whole = (model(pack_of(SOURCES, TARGETS)) @ model.output_matrix.T)[:, : model.num_ids].view(3, 4, -1)
    opener = StaticOpener(model) if fixed else model
    session = opener.open_session(stream_of(SOURCES), rows=3, width=1, max_length=8)
    for i, column in enumerate(zip(*[[2, *row[:-1]] for row in TARGETS], strict=True)):
        found = session.step(torch.tensor(column)[:, None])
        torch.testing.assert_close(found[:, 0], whole[:, i], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}], ids=str)
@torch.inference_mode()
def test_a_prompt_that_is_fed_at_once_goes_on_as_the_whole_text(changes):
    model = decoder(**changes)
    texts = [[4, 5, 6, 7, 8, 9], [14, 15, 16, 17]]
    session = PromptSession(model, rows=2, width=1)
    session.feed(torch.tensor([[4, 5, 6, 7], [0, 0, 14, 15]]), torch.tensor([0, 2]))
    session.step(torch.tensor([[8], [16]]))
    found = session.step(torch.tensor([[9], [17]]))[:, 0]
    hidden = model.decode(stream_of(texts))[[5, 9]]
    wanted = (hidden @ model.output_matrix.T)[:, : model.num_ids]
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_a_translation_that_is_given_its_beginning_goes_on_as_by_steps():
    model = encoder_decoder()
    fed, stepped = (model.open_session(stream_of(SOURCES), rows=3, width=2, max_length=8) for _ in range(2))
    fed.feed(torch.tensor([[2, 20, 21]] * 3), torch.tensor([0, 0, 0]))
    for token in (2, 20, 21):
        stepped.step(torch.full((3, 2), token))
    last = torch.tensor([[22, 23]] * 3)
    torch.testing.assert_close(fed.step(last), stepped.step(last), atol=2e-5, rtol=1e-4)


def test_slopes_of_a_half_copy_are_not_rounded():
    model = decoder()
    half = model.half_precision_copy(torch.bfloat16)
    assert half.target_positions.slopes.dtype == torch.float32
    assert torch.equal(half.target_positions.slopes, model.target_positions.slopes)


@pytest.mark.parametrize("target", ["hf", "ctranslate2", "onnx"])
def test_exports_refuse_it_by_name(target):
    model = EncoderDecoderModel.model_validate({**SIZES, "decoder_positions": "alibi"})
    (problem,) = obstacles(target, model=model, transforms=())
    assert problem.what.startswith("model.decoder_positions")
    assert problem.got == "alibi"


def test_an_export_of_a_language_model_refuses_it_by_name():
    model = DecoderModel.model_validate({**SIZES, "positions": "alibi"})
    (problem,) = obstacles("hf", model=model, transforms=())
    assert (problem.got, problem.allowed) == ("alibi", "rotary")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (EncoderDecoderModel, {"positions": "alibi"}),
        (DecoderModel, {"positions": "alibi", "prefix": "bidirectional"}),
    ],
)
def test_where_the_order_would_be_lost_it_is_refused(kind, settings):
    with pytest.raises(ValueError, match=r"order of the words|same in both directions"):
        kind.model_validate({**SIZES, **settings})
