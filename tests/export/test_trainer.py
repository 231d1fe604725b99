import pytest

from tests.small_run import small_pairs
from trimtab.evaluation.pairs import log_probabilities
from trimtab.export.trainer import token_log_probabilities
from trimtab.inference import load_model
from trimtab.types import Ragged


def test_the_scores_of_the_tokens_of_a_row_sum_up_to_that_of_the_row(trained_run):
    model = load_model(str(trained_run), device="cpu")
    sources, targets = (model.tokenizer.encode(side) for side in zip(*small_pairs(70, seed=3), strict=True))
    rows = Ragged.of(sources), Ragged.of(targets)
    found = token_log_probabilities(model, *rows)
    assert list(map(len, found)) == list(map(len, targets))
    assert [sum(each) for each in found] == pytest.approx(log_probabilities(model, *rows), abs=1e-4)
