"""A search behind what is given against the slow search over the distributions there."""

import pytest
import torch

from tests.reference.beam_search import slow_beam_search
from tests.small_run import small_parts
from trimtab.decode.beam import beam_search
from trimtab.decode.ensemble import Ensemble
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.prefilled import Prefilled
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SOURCES, GIVEN, LIMITS = [[5, 6, 7, 3], [8, 9, 3], [10, 3]], [[11, 12, 13], [], [14]], [4, 5, 3]


@torch.inference_mode()
def test_it_finds_what_the_plain_search_finds_that_counts_only_what_comes_after(tmp_path):
    parts = small_parts(tmp_path, **{"model.dropout": 0.0})
    opener, symbols = parts.model.eval(), Symbols.of(parts.datasets.tokenizer)

    def distribution(row, ids):
        session = opener.open_session(stream_of([SOURCES[row]], CPU), rows=1, width=1, max_length=30)
        for token in [symbols.start, *GIVEN[row], *ids]:
            logits = session.step(torch.tensor([[token]]))
        return logits.double().log_softmax(-1)[0, 0].tolist()

    for model in (opener, Ensemble([opener, opener])):
        begun = Prefilled(model, GIVEN)
        found = beam_search(
            begun, stream_of(SOURCES, CPU), limits=LIMITS, symbols=symbols, search=Search(beam=3)
        )
        for row, hypothesis in enumerate(found):
            expected = slow_beam_search(
                lambda ids, row=row: distribution(row, ids),
                beam=3,
                length_penalty=1.0,
                limit=LIMITS[row],
                end=symbols.end,
                suppress=symbols.suppress,
            )
            assert hypothesis.ids == expected.ids
            assert hypothesis.score == pytest.approx(expected.score, rel=1e-4)
