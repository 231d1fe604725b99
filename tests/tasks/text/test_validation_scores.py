from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.small_line import small_line
from trimtab.tasks.text.validation_scores import (
    loss_of,
    metrics_of_translations,
    shifted,
    translate,
    translation_scores,
)
from trimtab.types import Ragged


@pytest.fixture
def line(tmp_path):
    return small_line(tmp_path)


@pytest.mark.slow
def test_the_loss_is_the_mean_over_all_targets_of_the_set(line):
    valid = line.parts.datasets.valid["valid"]
    line.parts.model.eval()
    total = sum(
        loss_of(line.parts, line.parts.model, replace_rows(valid, i)) * len(valid.target.row(i))
        for i in range(len(valid.target))
    )
    expected = total / valid.target.offsets[-1]
    assert loss_of(line.parts, line.parts.model, valid) == pytest.approx(expected, rel=1e-5)


def replace_rows(valid, i):
    return replace(valid, source=valid.source.between(i, i + 1), target=valid.target.between(i, i + 1))


@torch.no_grad()
def test_the_loss_is_that_of_the_slow_twin_without_packs_of_many(line):
    valid, parts = line.parts.datasets.valid["valid"], line.parts
    parts.model.eval()
    summed, count = 0.0, 0
    for i in range(len(valid.target)):
        one = replace_rows(valid, i)
        (pack,) = parts.batching.pack_pairs(one.source, one.target)
        logits = (parts.model(pack) @ parts.model.output_matrix.T)[:, : parts.model.num_ids]
        summed += float(torch.nn.functional.cross_entropy(logits, pack.labels, reduction="sum"))
        count += pack.num_targets
    assert loss_of(parts, parts.model, valid) == pytest.approx(summed / count, rel=1e-5)


def test_metrics_of_translations_are_those_that_the_recipe_names_in_its_order(tmp_path):
    line = small_line(tmp_path, **{"evaluate.metrics": ["ter", "chrf"], "evaluate.lines": 7})
    valid = line.parts.datasets.valid["valid"]
    assert [metric.name for metric in metrics_of_translations(line.parts)] == ["ter", "chrf"]
    found = translate(line.parts, line.parts.model.eval(), valid)
    assert found.sources == [valid.sources[i] for i in found.lines]
    assert found.references == [valid.references[i] for i in found.lines]
    assert list(translation_scores(line.parts, valid, found)) == [
        "ter",
        "ter_signature",
        "chrf",
        "chrf_signature",
        "distinct_outputs",
        "repeated_4grams",
        "lines",
    ]
    assert len(found.lines) == len(found.outputs) == 7


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=9), st.integers(0, 20)
)
def test_shifted_rows_are_a_rotation(rows, shift):
    found = shifted(Ragged.of(rows), shift)
    place = shift % len(rows)
    assert [found.row(i).tolist() for i in range(len(rows))] == rows[-place:] + rows[:-place]
