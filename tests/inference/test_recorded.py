"""Translations in fixed shapes, and recorded on a GPU, against those of sessions that grow."""

import lzma
import math
from dataclasses import replace
from importlib.resources import files

import pytest
import torch

from tests.small_run import small_pairs
from trimtab.decode.batches import GPU_BATCH_TOKENS, MOST_HYPOTHESES
from trimtab.decode.prefilled import Given
from trimtab.decode.rows import Row, n_best_rows
from trimtab.decode.sample import Draw
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.inference import load_model, load_translator
from trimtab.inference.recorded import (
    ROOMY_HYPOTHESES,
    ROOMY_TOKENS,
    bytes_of_large_batches,
    recorded,
    with_dynamic_shapes,
    with_static_shapes,
)
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.source_prompts import SourcePrompts
from trimtab.model.static.opener import StaticOpener
from trimtab.model.static.shapes import Shape

LINES = [source for source, _ in small_pairs(60, seed=3)] + ["ship " * 60, "the", ""]
SEARCHES = (
    {"beam": 1},
    {"beam": 4},
    {"beam": 4, "stop": "enough", "length_penalty": 0.6},
    {"beam": 3, "no_repeat_ngram": 2},
    {"beam": 5, "length_penalty": 0.0},
)


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(str(trained_run), device="cpu")


def both(translator):
    """The setup of a translator, and the same in fixed shapes."""
    setup = replace(translator.setup, batch_tokens=600)  # several batches
    return setup, replace(setup, model=with_static_shapes(setup.model))


def translations(translator, setup, *, n=1, **options):
    """Texts and scores of all candidates."""
    translator.setup = setup
    found = translator.n_best(LINES, n=n, **options)
    return [[each.text for each in few] for few in found], [each.score for few in found for each in few]


def assert_alike(translator, **options):
    growing, fixed = both(translator)
    texts, scores = translations(translator, growing, **options)
    found_texts, found_scores = translations(translator, fixed, **options)
    assert found_texts == texts
    assert found_scores == pytest.approx(scores, abs=1e-4)


@pytest.mark.quick("{'beam': 1}")
@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_searches_find_the_same_translations(loaded, options):
    assert_alike(loaded.translator(search=Search(**options)))


@pytest.mark.slow
def test_lists_samples_and_forced_prefixes_are_the_same(loaded):
    assert_alike(loaded.translator(search=Search(beam=4)), n=4)
    assert_alike(loaded.translator(search=Search(sampling=Sampling(seed=5))), n=3)
    prefixes = [pair[1].split()[0] for pair in small_pairs(60, seed=3)] + ["", "das", ""]
    assert_alike(loaded.translator(search=Search(beam=3)), prefixes=prefixes)


@pytest.mark.quick("linear")
@pytest.mark.parametrize("mode", ["linear", "log_linear"])
def test_ensembles_translate_the_same(trained_run, mode):
    specs = [f"{trained_run}@{step}" for step in (40, 60)]
    translator = load_translator(specs, beam=3, device="cpu", ensemble=mode)
    growing, fixed = both(translator)
    assert all(isinstance(each, StaticOpener) for each in fixed.model.models)
    back = with_dynamic_shapes(fixed)
    assert (back.model.models, back.model.mode) == (growing.model.models, mode)
    assert_alike(translator)


def test_rows_go_on_from_what_is_given_in_the_same_way(loaded):
    growing, fixed = both(loaded.translator(search=Search(beam=3)))
    ids = loaded.tokenizer.encode(LINES[:6])
    given = loaded.tokenizer.encode(["das schiff", "rote", "", "alte luft", "das", ""])
    rows = [
        Row(ids=own, given=Given(target=before[:-1], own_tokens=len(own)), draw=Draw(line=number))
        for number, (own, before) in enumerate(zip(ids, given, strict=True))
    ]
    want, got = (n_best_rows(rows, setup, n=1) for setup in (growing, fixed))
    assert [few[0].ids for few in got] == [few[0].ids for few in want]


def test_documents_keep_sessions_that_rows_can_join(loaded):
    translator = loaded.translator(search=Search(beam=2))
    growing, fixed = both(translator)
    assert with_dynamic_shapes(fixed).model is growing.model
    documents = [LINES[:3], LINES[3:4], LINES[4:9]]
    translator.setup = growing
    want = list(translator.translate_documents(documents))
    translator.setup = fixed
    assert list(translator.translate_documents(documents)) == want


@pytest.mark.slow
def test_real_text_is_translated_the_same(loaded):
    packed = (files("trimtab.demo") / "data" / "valid.tsv.xz").read_bytes()
    lines = [line.split("\t")[0] for line in lzma.decompress(packed).decode().splitlines()][:100]
    translator = loaded.translator(search=Search(beam=4, stop="enough"))
    growing = translator.translate(lines)
    translator.setup = replace(translator.setup, model=with_static_shapes(translator.setup.model))
    assert translator.translate(lines) == growing


def test_nothing_is_recorded_on_a_cpu(loaded):
    setup = loaded.translator(search=Search()).setup
    assert isinstance(setup.model, EncoderDecoder)
    assert recorded(setup) is setup


def on_a_gpu(setup, monkeypatch, *, free):
    """The setup as it would be with so many bytes free on a GPU."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 80 * 2**30))
    return replace(setup, device=torch.device("cuda"), batch_tokens=GPU_BATCH_TOKENS)


@pytest.mark.parametrize(("share", "hypotheses"), [(1.2, MOST_HYPOTHESES), (1.3, ROOMY_HYPOTHESES)])
def test_batches_are_as_large_as_the_memory_allows(loaded, monkeypatch, share, hypotheses):
    plain = loaded.translator(search=Search()).setup
    needed = bytes_of_large_batches(with_static_shapes(plain.model))
    setup = on_a_gpu(plain, monkeypatch, free=int(share * needed))
    found = recorded(setup)
    assert isinstance(found.model, StaticOpener)
    assert found.most_hypotheses == hypotheses
    assert (found.batch_tokens == ROOMY_TOKENS) == (hypotheses == ROOMY_HYPOTHESES)
    back = with_dynamic_shapes(found)
    assert (back.batch_tokens, back.most_hypotheses) == (setup.batch_tokens, setup.most_hypotheses)


def test_what_a_large_batch_needs_is_what_it_has_room_for(loaded):
    opener = with_static_shapes(loaded.translator(search=Search()).setup.model)
    most = 0
    for source in range(1, 2049):
        rows = max(1, min(ROOMY_HYPOTHESES // 4, ROOMY_TOKENS // (4 * source)))
        shape = Shape.holding(rows=rows, width=4, source=source, memory=2 * source + 10)
        most = max(
            most,
            sum(math.prod(dims) * dtype.itemsize for dims, dtype in opener.memory._layout(shape).values()),
        )
    assert most <= bytes_of_large_batches(opener)


def test_an_ensemble_and_a_decoder_alone_keep_their_batches(loaded, trained_run, monkeypatch):
    specs = [f"{trained_run}@{step}" for step in (40, 60)]
    several = load_translator(specs, beam=3, device="cpu").setup
    alone = replace(several, model=SourcePrompts.__new__(SourcePrompts))
    for each in (several, alone):
        found = recorded(on_a_gpu(each, monkeypatch, free=2**50))
        assert (found.batch_tokens, found.most_hypotheses) == (GPU_BATCH_TOKENS, MOST_HYPOTHESES)


@pytest.mark.gpu
class TestOnGpu:
    @pytest.mark.parametrize("options", SEARCHES, ids=str)
    def test_recorded_steps_find_the_translations_of_plain_ones(self, trained_run, options):
        translator = load_model(str(trained_run)).translator(search=Search(**options))
        translator.setup = replace(translator.setup, batch_tokens=600)
        opener = translator.setup.model
        found = [translator.n_best(LINES, n=1) for _ in range(3)]  # plain ones first, in the end none
        assert opener.recordings.graphs
        opener.recordings, recordings = None, opener.recordings
        assert found == [translator.n_best(LINES, n=1)] * 3
        assert not recordings.given_up

    def test_an_ensemble_is_recorded_model_by_model(self, trained_run):
        specs = [f"{trained_run}@{step}" for step in (40, 60)]
        translator = load_translator(specs, beam=3)
        found = [translator.n_best(LINES, n=2) for _ in range(3)]
        assert found[0] == found[1] == found[2]
        assert all(each.recordings.graphs for each in translator.setup.model.models)
