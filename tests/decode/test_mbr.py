from dataclasses import replace

import pytest
from sacrebleu.metrics.chrf import CHRF

from tests.decode.copying import copying
from trimtab.decode.block import n_best_block
from trimtab.decode.candidate import Candidate
from trimtab.decode.mbr import Mbr, most_useful
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.errors import InputError


def candidate(text, log_probability=-1.0):
    return Candidate(text=text, score=-0.5, log_probability=log_probability, num_tokens=4)


def test_the_most_useful_is_the_one_that_is_most_like_the_others():
    texts = ["ein rotes boot", "das rote boot", "das rote boot", "das rote schiff", "der"]
    found = most_useful([candidate(text) for text in texts], Mbr())
    # One after another, by sacreBLEU, each sample counting once.
    scores = {text: sum(CHRF().sentence_score(text, [other]).score for other in texts) / 5 for text in texts}
    assert [each.text for each in found] == sorted(scores, key=lambda text: -scores[text])
    assert [each.score for each in found] == pytest.approx(sorted(scores.values(), reverse=True))
    assert found[0].text == "das rote boot"
    assert len(found) == 4


def test_of_equally_useful_ones_the_likelier_comes_first():
    few = [candidate("abcdefg", -3.0), candidate("hijklmn", -2.0)]
    assert [each.text for each in most_useful(few, Mbr(utility="bleu"))] == ["hijklmn", "abcdefg"]


@pytest.mark.parametrize("count", [1, 65])
def test_what_it_cannot_be_is_wrong_input(count):
    with pytest.raises(InputError, match="2 to 64"):
        Mbr(candidates=count)
    with pytest.raises(InputError, match="more than the beam has"):
        Search(beam=4, mbr=Mbr(candidates=5))


def test_the_translation_of_a_line_is_the_most_useful_of_its_candidates():
    plain, mbr = copying(beam=4), Mbr(candidates=4)
    chosen = replace(plain, search=Search(beam=4, mbr=mbr))
    (candidates,) = n_best_block(["short"], plain, n=4)
    assert n_best_block(["short"], chosen, n=2) == [most_useful(candidates, mbr)[:2]]


def test_the_pieces_of_a_long_line_are_chosen_one_by_one():
    search = Search(sampling=Sampling(seed=2), mbr=Mbr(candidates=5))
    lines = ["short", "one two three four five six seven.", ""]
    found = n_best_block(lines, replace(copying(max_tokens=18), search=search), n=1)
    assert [[each.text for each in few] for few in found] == [[line] for line in lines]
    assert [round(few[0].score) for few in found] == [100, 100, 0]
