import json

import pytest

from tests.box_run import write_boxes
from trimtab.errors import InputError
from trimtab.tasks.detection.detector import load_detector
from trimtab.tasks.detection.scoring import score_list


@pytest.fixture(scope="module")
def detector(box_run):
    return load_detector(box_run, device="cpu", score_threshold=0.5)


@pytest.mark.slow
def test_a_list_is_scored_and_what_was_not_used_is_named(detector, tmp_path):
    listed = write_boxes(tmp_path, 3, seed=5)
    tree = json.loads(listed.read_text())
    tree["annotations"][0]["bbox"] = [900, 900, 5, 5]
    listed.write_text(json.dumps(tree))
    (tmp_path / "images" / "1.png").write_bytes(b"none")
    found = score_list(detector, [listed])
    assert found.objects == len(tree["annotations"]) - 1
    assert "outside of its image" in found.left_out[0]
    assert len(found.unreadable) == 1
    assert {"ap", "ap_nms", "predictions_per_object"} <= found.to_dict().keys()
    assert "AP" in found.render()
    with pytest.raises(InputError, match="one list of boxes"):
        score_list(detector, [listed, listed])


def test_what_there_is_nothing_to_count_of_is_not_available(detector, tmp_path):
    listed = write_boxes(tmp_path, 1)
    found = score_list(detector, [listed])
    assert found.to_dict()["ap"] is None
    assert "n/a" in found.render()
