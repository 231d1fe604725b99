import math

import numpy as np
import pytest
import torch

from tests.small_run import small_pairs
from trimtab.choices import shape_for
from trimtab.data.cut import pack_pairs
from trimtab.data.reference_rows import reference_rows
from trimtab.evaluation.score_rows import (
    in_first_order,
    row_log_probabilities,
    row_scores,
    score_rows,
    sorted_by_length,
    summed_loss,
    total,
)
from trimtab.inference import load_model
from trimtab.types import Ragged


@pytest.fixture(scope="module")
def model(trained_run):
    return load_model(str(trained_run), device="cpu")


@pytest.fixture(scope="module")
def rows(model):
    sources, targets = map(list, zip(*small_pairs(15, seed=9), strict=True))
    return reference_rows(model.recipe, model.tokenizers, sources, targets, tags=())


@torch.no_grad()
def one_by_one(model, rows):
    """The slow twin: each pair alone, all its logits, in the order that was given."""
    found = []
    for number in range(len(rows.target)):
        source, target = rows.source.between(number, number + 1), rows.target.between(number, number + 1)
        shape = shape_for(model.recipe, (source.lengths, target.lengths), packed=False)
        (pack,) = pack_pairs(source, target, shape, **model.tokenizers.symbols)
        logits = (model.model(pack) @ model.model.output_matrix.T)[:, : model.model.num_ids]
        loss = torch.nn.functional.cross_entropy(logits, pack.labels, reduction="sum")
        found.append(-float(loss))
    return found


def test_each_row_has_the_score_that_it_has_alone_at_its_place(model, rows):
    found = row_log_probabilities(model, rows.source, rows.target, prompt=None)
    assert found.tolist() == pytest.approx(one_by_one(model, rows), rel=1e-5)


def test_the_summed_loss_is_that_of_all_rows(model, rows):
    found = summed_loss(model, rows.source, rows.target, prompt=np.zeros(len(rows.target), np.int32))
    assert found == pytest.approx(-sum(one_by_one(model, rows)), rel=1e-5)


def test_targets_that_are_given_do_not_count(model, rows):
    prompt = np.minimum(rows.target.lengths - 1, 2).astype(np.int32)
    part = row_log_probabilities(model, rows.source, rows.target, prompt=prompt)
    whole = row_log_probabilities(model, rows.source, rows.target, prompt=None)
    assert (part > whole).all()
    assert summed_loss(model, rows.source, rows.target, prompt=prompt) == pytest.approx(-part.sum(), rel=1e-5)


def packs_of(model, rows):
    shape = shape_for(model.recipe, (rows.source.lengths, rows.target.lengths), packed=False)
    return pack_pairs(rows.source, rows.target, shape, **model.tokenizers.symbols)


def test_the_precision_is_that_of_the_weights_or_of_the_run(model, rows):
    kinds = set()

    def score(pack):
        hidden = model.model(pack)
        kinds.add(torch.is_autocast_enabled("cpu"))
        return hidden.sum()

    here = {"device": torch.device("cpu")}
    plain = score_rows(packs_of(model, rows), score, precision=None, **here)
    assert score_rows(packs_of(model, rows), score, precision="fp32", **here) == plain
    assert kinds == {False}
    rounded = score_rows(packs_of(model, rows), score, precision="bf16_mixed", **here)
    assert kinds == {False, True}
    assert rounded != plain
    assert rounded == pytest.approx(plain, rel=0.2, abs=5)


def test_scores_of_packs_and_of_rows_are_float64_and_make_no_gradient(model, rows):
    def score(pack):
        found = row_scores(model.model, pack)
        assert found.dtype == torch.float64
        assert not found.requires_grad
        return found

    found = score_rows(packs_of(model, rows), score, device=torch.device("cpu"), precision=None)
    assert len(found) == len(rows.target)


def test_of_no_packs_there_are_no_scores():
    assert score_rows([], row_scores, device=torch.device("cpu"), precision=None) == []
    assert total([]) == 0.0


def test_scores_are_added_in_their_order():
    assert total([1.0, 1e100, 1.0, -1e100]) == 0.0
    assert math.isnan(total([math.nan, 1.0]))


def test_an_order_is_undone():
    source = Ragged.of([[1, 2], [1], [1, 2, 3]])
    order = sorted_by_length(source, source)
    assert order.tolist() == [1, 0, 2]
    assert in_first_order([10.0, 20.0, 30.0], order).tolist() == [20.0, 10.0, 30.0]
