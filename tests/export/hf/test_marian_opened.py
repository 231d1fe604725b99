import pytest
import torch

from tests.small_run import small_pairs
from trimtab.export.hf.marian_opened import EndAt
from trimtab.export.targets import build_target
from trimtab.inference import load_model
from trimtab.types import Ragged


@pytest.fixture(scope="module")
def opened(exported_run):
    return build_target("hf").as_users_open_it(exported_run)


@pytest.mark.slow
def test_the_library_s_search_keeps_the_limit_of_each_row_and_its_order(trained_run, opened):
    tokenizer = load_model(str(trained_run), device="cpu").tokenizer
    rows = tokenizer.encode([pair[0] for pair in small_pairs(20, seed=8)])
    limits = [1 + number % 5 for number in range(20)]
    found = opened.search(Ragged.of(rows), beam=4, limits=limits)
    assert all(len(ids) < limit for ids, limit in zip(found, limits, strict=True))
    assert all(tokenizer.end not in ids for ids in found)
    alone = [
        opened.search(Ragged.of([row]), beam=4, limits=[limit])[0]
        for row, limit in zip(rows, limits, strict=True)
    ]
    assert found == alone


def test_a_limit_leaves_the_score_of_the_end_as_the_model_gave_it():
    scores = torch.randn(3, 7)
    at = EndAt(4, end=2)
    assert torch.equal(at(torch.zeros(3, 3, dtype=torch.long), scores), scores)
    forced = at(torch.zeros(3, 4, dtype=torch.long), scores)
    assert torch.equal(forced[:, 2], scores[:, 2])
    assert forced.isinf().sum() == 18


def test_tags_stand_before_the_line(opened):
    assert opened.encode(["the ship"], ("<a>",)) == opened.encode(["<a> the ship"], ())
