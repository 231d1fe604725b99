from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small_run import small_pairs
from trimtab.decode.ensemble import Ensemble
from trimtab.decode.rows import Row, n_best_rows, translate_rows
from trimtab.decode.sample import Draw
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.decode.shortlist import Shortlist
from trimtab.decode.shortlisted import ShortVocabulary, shortlisted_setup
from trimtab.decode.stream import stream_of
from trimtab.inference import load_model
from trimtab.types import Ragged

LINES = [pair[0] for pair in small_pairs(12, seed=8)]


@pytest.fixture(scope="module")
def setup(trained_run):
    return load_model(f"{trained_run}@20", device="cpu").translator(search=Search(beam=3)).setup


@pytest.fixture(scope="module")
def rows(setup):
    return setup.tokenizer.encode(LINES)


def of_all(setup, *, left_out=()):
    """A shortlist of the whole vocabulary but for some ids."""
    num_ids = setup.tokenizer.num_ids
    kept = np.setdiff1d(np.arange(num_ids), left_out)
    return Shortlist(always=kept, of_source=Ragged.of([[]] * num_ids), num_ids=num_ids, copies=False)


SEARCHES = {
    "greedy": Search(beam=1),
    "beam": Search(beam=3),
    "sample": Search(sampling=Sampling(seed=3)),
    "no_repeat": Search(beam=3, no_repeat_ngram=2),
}


@pytest.mark.quick("greedy", "no_repeat")
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_shortlist_of_the_whole_vocabulary_changes_nothing(setup, rows, search):
    setup = replace(setup, search=search)
    whole = replace(setup, shortlist=of_all(setup))
    assert translate_rows(rows, whole) == translate_rows(rows, setup)


@pytest.mark.quick("greedy", "beam")
@pytest.mark.parametrize("name", ["greedy", "beam", "no_repeat"])
def test_what_is_never_written_can_be_left_out(setup, rows, name):
    """The cut path itself: the same translations, with other probabilities, since fewer ids share them. Of samples it
    is not true, whose random numbers fall elsewhere among fewer ids."""
    setup = replace(setup, search=SEARCHES[name])
    written = {id for found in translate_rows(rows, setup) for id in found.ids}
    unused = [id for id in range(4, setup.tokenizer.num_ids) if id not in written][:2]
    cut = replace(setup, shortlist=of_all(setup, left_out=unused))
    found, expected = translate_rows(rows, cut), translate_rows(rows, setup)
    assert [each.ids for each in found] == [each.ids for each in expected]
    assert all(one.score >= other.score for one, other in zip(found, expected, strict=True))


def test_what_is_left_out_is_never_written_and_samples_are_of_what_is_left(setup, rows):
    written = sorted({id for found in translate_rows(rows, setup) for id in found.ids})
    for search in SEARCHES.values():
        cut = replace(setup, search=search, shortlist=of_all(setup, left_out=written[::2]))
        for found in translate_rows(rows, cut):
            assert not set(found.ids) & set(written[::2])


def test_a_prefix_can_be_forced_though_it_is_not_in_the_shortlist(setup, rows):
    (first,) = translate_rows(rows[:1], setup)
    cut = replace(setup, shortlist=of_all(setup, left_out=first.ids))
    row = Row(ids=rows[0], prefix=first.ids[:1], draw=Draw(0))
    (few,) = n_best_rows([row], cut, n=2)
    assert all(each.ids[:1] == first.ids[:1] for each in few)


def test_an_ensemble_is_cut_in_all_its_models(setup, rows):
    both = replace(setup, model=Ensemble([setup.model, setup.model]))
    cut = of_all(setup, left_out=[10])
    found = translate_rows(rows, replace(both, shortlist=cut))
    assert [each.ids for each in found] == [
        each.ids for each in translate_rows(rows, replace(setup, shortlist=cut))
    ]


def test_the_logits_are_those_of_the_chosen_ids(setup, rows):
    short, ids = shortlisted_setup(
        replace(setup, shortlist=of_all(setup, left_out=[7, 9])), rows, prefixes=[[]]
    )
    assert 7 not in ids
    source = stream_of(rows[:2], setup.device)
    shape = {"rows": 2, "width": 1, "max_length": 8}
    cut, whole = (model.open_session(source, **shape) for model in (short.model, setup.model))
    vocabulary = short.tokenizer
    assert isinstance(vocabulary, ShortVocabulary)
    fed = torch.full((2, 1), vocabulary.start)
    expected = whole.step(torch.full((2, 1), setup.tokenizer.start))[:, :, ids]
    torch.testing.assert_close(cut.step(fed), expected)
    assert vocabulary.decode([[vocabulary.end]]) == [""]
    assert vocabulary.encode(["ship"]) == setup.tokenizer.encode(["ship"])
    assert [ids[each] for each in (vocabulary.pad, vocabulary.unknown)] == [
        setup.tokenizer.pad,
        setup.tokenizer.unknown,
    ]
