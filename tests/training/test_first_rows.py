import pytest

from tests.for_each import for_each
from tests.model.test_decoder_only import build as language_model
from tests.model.test_decoder_only import documents
from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of
from trimtab.training import first_rows as module
from trimtab.training.context_use import context_use
from trimtab.training.gradient_flow import gradient_flow
from trimtab.training.position_use import position_use

TEXTS = [[20, 21, 22, 3], [30, 31, 32, 3], [40, 41, 42, 43, 44, 3]]


def translator_pack(rows):
    return pack_of(SOURCES[:rows], TARGETS[:rows], max_seqlen=6)


def text_pack(rows):
    return documents(TEXTS[:rows], max_seqlen=6)


@for_each(
    ("probe", "most", "rows"),
    [
        (position_use, 8, 2),
        (position_use, 1, 1),
        (gradient_flow, 8, 2),
        (gradient_flow, 1, 1),
        (context_use, 1, 2),
    ],
)
def test_a_probe_reads_the_first_rows_of_a_pack_alone(probe, most, rows):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MOST_TOKENS", most)
        for model, packs in ((build().eval(), translator_pack), (language_model().eval(), text_pack)):
            read = []
            hook = model.register_forward_pre_hook(lambda _, given, read=read: read.append(given[0]))
            found = probe(model, packs(3))
            hook.remove()
            assert {each.num_segments for each in read} == {rows}
            assert max(len(each.target.ids) for each in read) < len(packs(3).target.ids)
            assert found == pytest.approx(probe(model, packs(rows)), rel=1e-4, abs=1e-5)
