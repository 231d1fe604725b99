from dataclasses import replace

import pytest
import torch

from trimtab.tasks.detection.annotations import EMPTY, Faults
from trimtab.tasks.detection.checks import data_checks, image_is_the_same_alone, images_are_apart, unlike


def test_boxes_that_are_not_used_are_a_finding_and_many_of_them_an_error(parts):
    corpus = parts.datasets.corpora[0]
    assert [*data_checks(parts)] == []
    for count, severity in ((1, "warning"), (500, "error")):
        faults = Faults()
        for number in range(count):
            faults.add(EMPTY, f"annotation {number}")
        broken = replace(corpus, annotations=replace(corpus.annotations, faults=faults))
        parts.datasets.corpora[0] = broken
        try:
            (found,) = data_checks(parts)
        finally:
            parts.datasets.corpora[0] = corpus
        assert (found.code, found.severity) == ("D212", severity)
        assert "annotation 0" in found.message


@pytest.mark.parametrize("check", [images_are_apart, image_is_the_same_alone])
def test_a_model_that_mixes_images_is_found(parts, monkeypatch, check):
    assert [*check(parts)] == []
    plain = type(parts.model).predicted

    def mixed(self, pixels, inner):
        return plain(self, pixels + 0.5 * torch.roll(pixels, 1, 0), inner)

    monkeypatch.setattr(type(parts.model), "predicted", mixed)
    assert [*check(parts)] != []


def test_queries_in_another_order_are_the_same_predictions():
    rows = torch.rand(40, 5, generator=torch.Generator().manual_seed(1))
    assert unlike(rows, rows.flip(0)) < 1e-6
    exchanged = torch.cat([rows[:38] + 1e-7, rows[38:] + 5])
    assert unlike(rows, exchanged) < 1e-6
    assert unlike(rows, rows + 0.5 * rows.mean(1, keepdim=True)) > 1e-2
