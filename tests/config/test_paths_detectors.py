import json

import pytest

from trimtab.config.detector_model import DetectorModel
from trimtab.config.paths import with_detector_files
from trimtab.errors import InputError

MODEL = DetectorModel(path="folder")


def test_sizes_and_settings_are_those_of_config_json_and_categories_are_not(tmp_path):
    tree = {"model_type": "d_fine", "d_model": 128, "num_queries": 77, "id2label": {"0": "a"}, "dropout": 0.1}
    (tmp_path / "config.json").write_text(json.dumps(tree))
    found = with_detector_files(MODEL, str(tmp_path))
    assert (found.dim, found.queries, found.path) == (128, 77, str(tmp_path))
    assert json.loads(found.settings) == {"d_model": 128, "num_queries": 77, "dropout": 0.1}
    (tmp_path / "config.json").unlink()
    assert with_detector_files(found, "elsewhere").settings == found.settings  # read once


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"model_type": "bert"}'])
def test_a_folder_of_something_else_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError):
        with_detector_files(MODEL, str(tmp_path))
