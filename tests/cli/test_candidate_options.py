import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.cli.candidate_options import choice_of
from trimtab.decode.mbr import Mbr
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search

SHAPES = {"temperature": None, "top_k": None, "top_p": None, "epsilon": None, "seed": None}


def choice(utility=None, rerank=None, *, candidates=None, n_best=None, tags=None):
    return choice_of(utility, rerank, candidates=candidates, n_best=n_best, reverse_tags=tags)


def test_mbr_draws_from_the_distribution_that_suits_it_unless_told_otherwise():
    mbr = choice("chrf")
    assert mbr.sampling(False, beam=None, **SHAPES) == Sampling(epsilon=0.02)
    assert mbr.sampling(False, beam=None, **{**SHAPES, "seed": 5}) == Sampling(epsilon=0.02, seed=5)
    assert mbr.sampling(False, beam=None, **{**SHAPES, "top_p": 0.9}) == Sampling(top_p=0.9)
    assert mbr.sampling(True, beam=None, **SHAPES) == Sampling()
    assert mbr.sampling(False, beam=8, **SHAPES) is None
    assert choice().sampling(False, beam=None, **SHAPES) is None


def test_there_are_32_samples_or_as_many_candidates_as_the_beam_has():
    assert choice("bleu").mbr(beam=None, samples=True) == Mbr(utility="bleu", candidates=32)
    assert choice("chrf").mbr(beam=8, samples=False) == Mbr(candidates=8)
    assert choice("chrf", candidates=5).mbr(beam=8, samples=False) == Mbr(candidates=5)
    assert choice().mbr(beam=8, samples=False) is None
    reranked = choice(rerank=["length=1"])
    assert reranked.reranked(Search(beam=6)) == 6
    assert reranked.reranked(Search(sampling=Sampling())) == 32
    assert choice(rerank=["length=1"], candidates=3).reranked(Search(beam=6)) == 3
    assert choice().reranked(Search()) == 0


def test_runs_and_weights_are_read():
    found = choice(rerank=["reverse=runs/a:b@500:ema:0.5", "lm=x:-2", "length=0.1"], tags=["<2en>"]).weights
    assert found is not None
    assert (found.reverse, found.lm, found.length) == ({"runs/a:b@500:ema": 0.5}, {"x": -2.0}, 0.1)
    assert found.reverse_tags == ("<2en>",)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--mbr", "chrf", "--rerank", "length=1"], "--rerank"),
        (["--mbr", "ter"], "chrf"),
        (["--candidates", "4"], "--mbr chrf"),
        (["--candidates", "1"], "2 to 64"),
        (["--mbr", "chrf", "--candidates", "4", "--n-best", "5"], "1 to 4"),
        (["--mbr", "chrf", "--n-best", "33"], "1 to 32"),
        (["--rerank", "reverse=run"], "reverse=RUN:WEIGHT"),
        (["--rerank", "reverse=run:heavy"], "reverse=RUN:WEIGHT"),
        (["--rerank", "length=run:1"], "length=WEIGHT"),
        (["--rerank", "comet=1"], "length=WEIGHT"),
        (["--rerank", "lm=run:inf"], "lm=RUN:WEIGHT"),
        (["--rerank", "lm=a:1", "--rerank", "lm=a:2"], "given twice for a"),
        (["--rerank", "length=1", "--rerank", "length=2"], "given twice"),
        (["--rerank", "length=1", "--reverse-tag", "<x>"], "--rerank reverse"),
        (["--reverse-tag", "<x>"], "--rerank reverse"),
        (["--rerank", "length=1", "--candidates", "8"], "--beam 8"),
        (["--rerank", "length=1", "--beam", "1"], "--beam 4"),
        (["--mbr", "chrf", "--beam", "4", "--candidates", "8"], "raise the beam"),
        (["--mbr", "chrf", "--documents", "text"], "--documents"),
        (["--rerank", "length=1", "--documents", "text"], "--documents"),
        (["--shortlist", "s", "--documents", "text"], "--documents"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_a_model_is_loaded(call, options, word):
    assert has_four_parts(refused(call("translate", "no-such-run", *options, stdin=""), word))
