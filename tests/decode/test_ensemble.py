import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.beam_search import slow_beam_search
from tests.reference.recurrent_model import RecurrentModel
from trimtab.decode.beam import beam_search
from trimtab.decode.ensemble import Ensemble
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of

CPU = torch.device("cpu")
SYMBOLS = Symbols(start=1, end=2, suppress=(0, 1))
ROWS, LIMITS = [[3, 4], [5], [6, 3, 3]], [9, 5, 12]


def averaged(lists, mode):
    """Log-probabilities averaged with plain numbers."""
    if mode == "linear":
        return [math.log(sum(map(math.exp, column)) / len(column)) for column in zip(*lists, strict=True)]
    means = [sum(column) / len(column) for column in zip(*lists, strict=True)]
    whole = math.log(sum(map(math.exp, means)))
    return [mean - whole for mean in means]


@pytest.mark.quick("log_linear")
@pytest.mark.parametrize("mode", ["linear", "log_linear"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), num_models=st.integers(1, 3), beam=st.integers(1, 4))
def test_it_finds_what_the_plain_search_over_averaged_distributions_finds(mode, seed, num_models, beam):
    models = [RecurrentModel(seed + number, vocabulary=7) for number in range(num_models)]
    search = Search(beam=beam)
    found = beam_search(
        Ensemble(models, mode=mode), stream_of(ROWS, CPU), limits=LIMITS, symbols=SYMBOLS, search=search
    )
    for hypothesis, row, limit in zip(found, ROWS, LIMITS, strict=True):
        expected = slow_beam_search(
            lambda ids, row=row: averaged(
                [model.log_probabilities(row, [SYMBOLS.start, *ids]) for model in models], mode
            ),
            beam=beam,
            length_penalty=1.0,
            limit=limit,
            end=SYMBOLS.end,
            suppress=SYMBOLS.suppress,
        )
        assert hypothesis.ids == expected.ids
        assert hypothesis.score == pytest.approx(expected.score, rel=1e-6)


@pytest.mark.parametrize("mode", ["linear", "log_linear"])
def test_a_model_with_itself_is_the_model(mode):
    model = RecurrentModel(3, vocabulary=9)
    shared = {"limits": LIMITS, "symbols": SYMBOLS, "search": Search(beam=3)}
    alone = beam_search(model, stream_of(ROWS, CPU), **shared)
    doubled = beam_search(Ensemble([model, model], mode=mode), stream_of(ROWS, CPU), **shared)
    assert [each.ids for each in doubled] == [each.ids for each in alone]
    assert [each.score for each in doubled] == pytest.approx([each.score for each in alone])
