import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build, logits
from tests.streams import stream_of
from trimtab.model.sequence_layout import sequence_layout
from trimtab.model.source_registers import with_register_slots, with_registers


def test_each_segment_begins_with_the_registers_and_goes_on_with_its_tokens():
    stream = stream_of([[4, 5, 3], [], [6, 3]], max_seqlen=4)
    places = with_register_slots(stream, 2)
    x, vectors = torch.arange(1.0, 6.0)[:, None], torch.tensor([[-1.0], [-2.0]])
    found = with_registers(x, vectors, places)[:, 0].tolist()
    assert found == [-1, -2, 1, 2, 3, -1, -2, -1, -2, 4, 5]
    assert places.stream.positions.tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3]
    assert places.stream.segments.tolist() == [0] * 5 + [1] * 2 + [2] * 4
    assert places.stream.cu_seqlens.tolist() == [0, 5, 7, 11]
    assert places.stream.cu_seqlens.dtype == torch.int32
    assert places.stream.max_seqlen == 6


def test_registers_change_what_is_read_and_are_not_read_by_the_decoder():
    model = build(registers=2).eval()
    before = logits(model, SOURCES, TARGETS)
    model.source_registers.weight.data *= -1
    assert not torch.allclose(logits(model, SOURCES, TARGETS), before, atol=1e-3)
    stream = stream_of(SOURCES)
    assert len(model.encode(stream, sequence_layout(stream, padded=True))) == len(stream.ids)


def test_the_longest_source_still_fits():
    model = build(registers=3, positions="rotary").eval()
    source = [[5] * 31 + [3]]
    assert torch.isfinite(logits(model, source, [[20, 3]])).all()


def test_the_other_weights_begin_as_without_registers():
    plain, more = (dict(build(registers=count).named_parameters()) for count in (0, 2))
    assert more.keys() - plain.keys() == {"source_registers.weight"}
    assert all(torch.equal(more[name], weight) for name, weight in plain.items())
    assert build(registers=2).role_of("source_registers.weight") == "embedding"
