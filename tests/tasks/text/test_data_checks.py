import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts
from trimtab.tasks.text.data_checks import data_checks

TWICE = {"data.valid": {"source": "train.en", "target": "train.de"}}


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_nothing_is_found_in_data_that_is_well(tmp_path, parts_of):
    assert [str(each) for each in data_checks(parts_of(tmp_path))] == []


def test_tags_and_pairs_that_are_trained_on_are_found_in_a_validation_set(tmp_path):
    codes = {
        each.code for each in data_checks(small_parts(tmp_path, **TWICE, **{"data.train.0.tags": ["<x>"]}))
    }
    assert {"D204"} < codes
