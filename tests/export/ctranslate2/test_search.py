"""The library's search beside ours, on models that find no end, so that limits and stages all matter."""

import pytest
import torch

from tests.export.variants import variant
from tests.small_run import small_pairs
from trimtab.decode.beam import beam_search, n_best_beam_search
from trimtab.decode.greedy import greedy
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.limits import target_limit
from trimtab.decode.search import Search
from trimtab.decode.stream import stream_of
from trimtab.export.ctranslate2.target import CTranslate2
from trimtab.inference import load_model
from trimtab.types import Ragged

CPU = torch.device("cpu")
SEARCHES = [
    (Search(beam=1), 1),
    (Search(beam=4), 1),
    (Search(beam=2), 1),
    (Search(beam=4, length_penalty=0.0), 1),
    (Search(beam=4, length_penalty=2.0), 1),
    (Search(beam=4, stop="enough"), 1),
    (Search(beam=5), 3),
    (Search(beam=5, stop="enough"), 5),
]


@pytest.fixture(scope="module", params=[0, 12], ids=["taught nothing", "taught a little"])
def case(request, trained_run, tmp_path_factory):
    """A model, the same in the library, and rows with their limits."""
    loaded = load_model(f"{trained_run}@last", device="cpu")
    model = variant(loaded, steps=request.param, norm_position="after" if request.param else "before")
    folder = tmp_path_factory.mktemp("ct2")
    CTranslate2().write(model, folder)
    library = CTranslate2().as_users_open_it(folder).model
    rows = model.tokenizer.encode([source for source, _ in small_pairs(24, seed=8)])
    limits = [target_limit(len(row), max_tokens=32) for row in rows]
    return model, library, rows, limits


@pytest.mark.quick(search=[Search(beam=4), Search(beam=4, length_penalty=0.0), Search(beam=5, stop="enough")])
@pytest.mark.parametrize(("search", "n"), SEARCHES, ids=str)
def test_it_finds_what_ours_finds_with_the_same_scores(case, search, n):
    model, library, rows, limits = case
    symbols, opener, source = Symbols.of(model.tokenizer), model.model, stream_of(rows, CPU)
    options = {"limits": limits, "symbols": symbols}
    if search.beam == 1:
        ours = [[each] for each in greedy(opener, source, **options)]
    elif n == 1:
        ours = [[each] for each in beam_search(opener, source, search=search, **options)]
    else:
        ours = n_best_beam_search(opener, source, search=search, n=n, **options)
    theirs = library.search(
        Ragged.of(rows),
        limits=limits,
        beam=search.beam,
        n=n,
        length_penalty=search.length_penalty,
        exact=search.stop == "exact",
    )
    same = [
        [each.ids for each in few] == [ids for ids, _ in others]
        for few, others in zip(ours, theirs, strict=True)
    ]
    # A symbol that is never written may stand among the likeliest of a model that has learned nothing.
    assert sum(same) >= len(rows) - 2
    for few, others, are_same in zip(ours, theirs, same, strict=True):
        if are_same:
            assert [score for _, score in others] == pytest.approx([each.score for each in few], abs=1e-4)
    never = {*symbols.suppress, symbols.end}
    assert not any(never & set(ids) for others in theirs for ids, _ in others)


def test_rows_that_reach_their_limit_are_among_them(case):
    _, library, rows, limits = case
    found = library.search(Ragged.of(rows), limits=limits, beam=4, n=1, length_penalty=1.0, exact=True)
    lengths = [len(few[0][0]) + 1 for few in found]
    assert all(length <= limit for length, limit in zip(lengths, limits, strict=True))
    assert any(length == limit for length, limit in zip(lengths, limits, strict=True))


@pytest.mark.parametrize("beam", [1, 4])
def test_no_batch_and_no_order_changes_what_is_found(case, beam):
    _, library, rows, limits = case
    options = {"beam": beam, "n": 1, "length_penalty": 1.0, "exact": True}
    together = library.search(Ragged.of(rows), limits=limits, **options)
    alone = [
        library.search(Ragged.of([row]), limits=[limit], **options)[0]
        for row, limit in zip(rows, limits, strict=True)
    ]
    assert [few[0][0] for few in together] == [few[0][0] for few in alone]


def test_no_row_gives_no_translation(case):
    assert case[1].search(Ragged.of([]), limits=[], beam=4, n=1, length_penalty=1.0, exact=True) == []
