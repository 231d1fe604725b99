import pytest
import torch

from tests.faults.mutation import put_bug
from trimtab.model.attention_padded import attend_padded
from trimtab.model.block import CrossAttention, DecoderBlock, EncoderBlock
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.tasks.text.causality import halves, sees_what_it_should
from trimtab.tasks.text.probing import few_examples, one_pack

LEAVE = "recomputes=self.recomputes, bottom=bottom\n    )"
BUGS = {
    "future": (attend_padded, ("is_causal=causal", "is_causal=False"), {"M201", "M204"}),
    "padding": (attend_padded, ("to.real[:, None, None, :]", "None"), {"M204"}),
    "source": (CrossAttention.forward, ("self.keys_values(memory)", "self.keys_values(memory * 0)"), {"M202"}),
    "target": (EncoderDecoder.embed_target, ("self.embedding(stream.ids)", "self.embedding(stream.ids * 0)"), {"M202"}),
    "others, in the encoder": (EncoderBlock.forward, (LEAVE, LEAVE + " + x.mean(0)"), {"M203", "M204"}),
    "all, in the decoder": (DecoderBlock.computed, (LEAVE, LEAVE + " + x.mean(0)"), {"M201", "M203", "M204"}),
    "place": (EncoderDecoder.embed_target, ("stream, self.target", "__import__('dataclasses').replace(stream, "
        "positions=(stream.positions + stream.segments) % 32), self.target"), {"M204"}),
}  # fmt: skip


@pytest.mark.parametrize(("function", "change", "codes"), BUGS.values(), ids=BUGS)
def test_what_must_not_be_seen_and_what_is_not_seen_are_found(parts, monkeypatch, function, change, codes):
    put_bug(monkeypatch, function, change)
    results = list(sees_what_it_should(parts))
    assert {each.code for each in results} == codes
    assert {each.severity for each in results} == {"error"}


def test_a_vector_that_is_no_number_is_never_taken_for_well(parts):
    with torch.no_grad():
        parts.model.embedding.weight.fill_(torch.nan)
    assert {each.code for each in sees_what_it_should(parts)} == {"M201", "M202", "M203", "M204"}


def test_the_later_half_begins_after_the_first_token_of_every_other_example(parts):
    pack = one_pack(parts, few_examples(parts))
    every_other, late = halves(pack)
    for number in range(pack.num_segments):
        here = pack.target.segments == number
        length, tail = int(here.sum()), late[here].tolist()
        assert every_other[here].all() == (number % 2 == 0)
        assert tail == [number % 2 == 0 and 2 * place >= length and place > 0 for place in range(length)]
