from typing import get_args

import pytest

from trimtab.errors import InputError
from trimtab.metrics.catalogue import (
    METRICS,
    OF_BOXES,
    OF_LABELS,
    OF_READINGS,
    OF_THE_LOSS,
    OF_TRANSLATIONS,
    ON_REQUEST,
    MetricName,
    metric_of,
)
from trimtab.metrics.metric import MetricSettings, Translations

ALL = (*METRICS, *ON_REQUEST)


def lines(outputs, references):
    return Translations(outputs=outputs, references=references, sources=outputs, settings=MetricSettings())


def test_a_recipe_can_name_each_of_them():
    assert get_args(MetricName) == tuple(metric.name for metric in METRICS)


def test_each_is_found_by_a_name_of_its_own():
    assert [metric_of(metric.name) for metric in ALL] == [*ALL]
    assert len({metric.label for metric in ALL}) == len(ALL)
    with pytest.raises(KeyError):
        metric_of("blue")


def test_each_is_the_loss_or_of_texts_translations_labels_readings_or_boxes():
    found = {"loss", *OF_THE_LOSS, *OF_TRANSLATIONS, *OF_LABELS, *OF_READINGS, *OF_BOXES}
    assert found == {metric.name for metric in METRICS}
    assert not OF_THE_LOSS.keys() & OF_TRANSLATIONS.keys()


@pytest.mark.parametrize("metric", OF_TRANSLATIONS.values(), ids=lambda metric: metric.name)
def test_a_perfect_translation_has_the_best_score_under_the_name_for_people(metric):
    good = ["The cat sat on the mat.", "It rains today, does it not?"]
    perfect, other = metric.compute(lines(good, good)), metric.compute(lines(["A dog.", "No."], good))
    assert perfect.name == metric.label
    assert perfect.value != other.value
    assert (perfect.value < other.value) == metric.lower_is_better
    assert "version:" in perfect.signature


@pytest.mark.parametrize("metric", OF_TRANSLATIONS.values(), ids=lambda metric: metric.name)
def test_sets_that_are_unequal_or_empty_are_refused(metric):
    with pytest.raises(InputError, match="2 translations and 1 references"):
        metric.compute(lines(["a", "b"], ["c"]))
    with pytest.raises(InputError, match="the set is empty"):
        metric.compute(lines([], []))
