from pathlib import Path

import pytest
import torch

from tests.fit.live_bytes import LiveBytes
from tests.fit.planning import pairs_recipe, text_recipe
from trimtab.config.decoder_model import DecoderModel
from trimtab.decode import batches, limits
from trimtab.decode.beam import beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.evaluation.repetition import NUM_PROBES
from trimtab.fit import evaluation
from trimtab.fit.evaluation import search_bytes, translating_bytes
from trimtab.fit.gpus import find_gpu
from trimtab.fit.native import native_shape
from trimtab.fit.plan import plan_recipe
from trimtab.fit.planned_run import run_of
from trimtab.fit.vocabulary import Vocabulary
from trimtab.model import decoder_session
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.source_prompts import SourcePrompts

H200 = find_gpu("h200")
LONGEST = 64
SYMBOLS = Symbols(start=2, end=3, suppress=(0, 1, 2, 3))
"""The end symbol never comes by itself, so that each translation becomes as long as it may."""


def run_with(recipe, ids):
    shape = native_shape(recipe, Vocabulary(ids, ids))
    return run_of(recipe, Path(), H200, shape)


def most_bytes(model, *, rows, beam, source):
    texts = [[5] * (source - 1) + [3] for _ in range(rows)]
    longest = [limits.target_limit(source, max_tokens=LONGEST) for _ in range(rows)]
    stream = stream_of(texts, torch.device("cpu"))
    with LiveBytes() as live:
        if beam == 1:
            greedy(model, stream, limits=longest, symbols=SYMBOLS)
        else:
            beam_search(model, stream, limits=longest, symbols=SYMBOLS, search=Search(beam=beam))
    return live.most


SIZES = {"dim": 64, "heads": 4, "feed_forward": 128}


@pytest.mark.parametrize(
    ("ids", "rows", "beam", "source", "more"),
    [
        (128, 16, 4, 24, {"layers": 4}),  # caches
        (6400, 16, 4, 6, {"layers": 1}),  # scores
        (
            128,
            48,
            1,
            48,
            {"layers": 2, "heads": 8, "kv_heads": 2, "decoder_layers": 1},
        ),  # caches of few heads
    ],
    ids=("caches", "scores", "greedy"),
)
def test_a_search_holds_what_is_planned(ids, rows, beam, source, more):
    recipe = pairs_recipe(model={"kind": "encoder_decoder", **SIZES, **more}, data__max_tokens=LONGEST)
    model = EncoderDecoder(recipe.model, num_ids=ids, max_positions=LONGEST, seed=1).eval().to(torch.bfloat16)
    planned = search_bytes(run_with(recipe, ids), rows=rows, beam=beam, source=source, longest=LONGEST)
    assert 0.92 * planned < most_bytes(model, rows=rows, beam=beam, source=source) < 1.01 * planned


def test_a_search_by_a_language_model_holds_what_is_planned():
    recipe = text_recipe(
        data__train=[{"source": "a", "target": "b"}],
        data__valid={"source": "a", "target": "b"},
        data__max_tokens=2 * LONGEST,
        model={"kind": "decoder", "layers": 3, **SIZES},
    )
    assert isinstance(recipe.model, DecoderModel)
    model = (
        DecoderOnly(recipe.model, num_ids=128, max_positions=2 * LONGEST, seed=1).eval().to(torch.bfloat16)
    )
    planned = search_bytes(run_with(recipe, 128), rows=16, beam=4, source=24, longest=LONGEST)
    prompts = SourcePrompts(model, start=2, separator=4)
    assert 0.85 * planned < most_bytes(prompts, rows=16, beam=4, source=24) < 1.1 * planned


def test_bounds_are_those_of_the_search():
    assert evaluation.BATCH_TOKENS == batches.GPU_BATCH_TOKENS
    assert evaluation.MOST_HYPOTHESES == batches.MOST_HYPOTHESES
    assert (evaluation.PER_SOURCE_TOKEN, evaluation.BESIDES) == (limits.PER_SOURCE_TOKEN, limits.BESIDES)
    assert evaluation.FIRST_SLOTS == decoder_session.FIRST_SLOTS
    assert evaluation.FEW_LINES >= NUM_PROBES


def test_only_what_translates_pays_for_a_search_and_a_wider_beam_or_more_lines_for_more():
    def bytes_of(recipe):
        return translating_bytes(plan_recipe(recipe, Path(), H200).run)

    few = bytes_of(pairs_recipe(evaluate__lines=16))
    assert bytes_of(text_recipe()) == 0
    assert 0 < few < bytes_of(pairs_recipe(evaluate__lines=16, evaluate__beam=8))
    assert few < bytes_of(pairs_recipe()) < bytes_of(pairs_recipe(evaluate__lines=None))
    assert bytes_of(pairs_recipe(evaluate={"metrics": ["loss"], "best": {"metric": "loss"}})) < bytes_of(
        pairs_recipe()
    )
