import pytest

from tests.image_run import write_images
from trimtab.errors import InputError
from trimtab.tasks.recognition.recognizer import load_recognizer
from trimtab.tasks.recognition.scoring import confusions, found_in, score_list


def test_scores_of_a_list_name_what_is_mistaken_for_what(image_run, tmp_path):
    labels = write_images(tmp_path / "set", ["12", "ab"])
    (tmp_path / "set" / "1.png").write_bytes(b"damaged")
    found = score_list(load_recognizer(image_run), [labels])
    assert found.images == 2
    assert len(found.unreadable) == 1
    assert found.scores.keys() == {"cer", "wer", "exact", "loops"}
    assert "could not be opened" in found.render()
    with pytest.raises(InputError, match="one list"):
        score_list(load_recognizer(image_run), [labels, labels])


def test_confusions_are_those_of_a_shortest_alignment():
    assert dict(found_in("lllo", "11lo")) == {("l", "1"): 2}
    assert dict(found_in("abc", "ac")) == {("b", ""): 1}
    assert dict(found_in("ac", "abc")) == {("", "b"): 1}
    (first, *_) = confusions(["l1", "ll", "same"], ["11", "11", "same"])
    assert (first.written, first.read, first.count) == ("l", "1", 3)
