from dataclasses import replace

import pytest

from tests.box_run import write_boxes
from trimtab.errors import InputError
from trimtab.tasks.detection.categories import CATEGORIES_FILE, load_categories, prepare_categories
from trimtab.tasks.detection.coco import read_coco


@pytest.fixture
def found(tmp_path):
    return read_coco(write_boxes(tmp_path / "set", 2), None)


def test_lists_share_categories_by_name_whatever_they_call_them(found, tmp_path):
    other = replace(found, names=("blue", "green"), category_ids=(3, 3))
    categories = prepare_categories([found, other], folder=tmp_path / "run")
    assert categories.names == ("red", "blue", "green")
    assert categories.ids == (3, 7, 8)  # 3 is taken
    assert categories.numbers_of(["green", "pink", "red"]) == [2, -1, 0]
    assert load_categories(tmp_path / "run") == categories
    assert prepare_categories([found, other], folder=tmp_path / "run") == categories


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '[{"name": 3, "id": 1}]', '[{"name": "a"}]', '[{"name": "a", "id": "b"}]']
)
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / CATEGORIES_FILE).write_text(text)
    with pytest.raises(InputError, match="no list of categories"):
        load_categories(tmp_path)
