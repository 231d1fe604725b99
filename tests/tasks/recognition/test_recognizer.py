import shutil

import numpy as np
import pytest

from tests.image_run import draw_line
from trimtab.averaging.average import average
from trimtab.errors import InputError
from trimtab.tasks.recognition.recognizer import load_recognizer


@pytest.mark.slow
def test_a_recognizer_reads_files_arrays_and_images_alike(image_run, tmp_path):
    recognizer = load_recognizer(image_run)
    image = draw_line("123")
    path = tmp_path / "a.png"
    image.save(path)
    given = [path, str(path), path.read_bytes(), image, np.asarray(image)]
    found = list(recognizer.recognize(given))
    assert len({(each.text, round(each.confidence, 5)) for each in found}) == 1
    assert [each.image for each in found] == [str(path), str(path), "", "", ""]
    bad = list(recognizer.recognize([path, b"none", np.zeros((3, 3, 7), np.uint8), tmp_path / "gone.png"]))
    assert [bool(each.error) for each in bad] == [False, True, True, True]
    with pytest.raises(InputError, match="one image in place of a list"):
        recognizer.recognize(str(path))
    for head in ("ctc", "attention"):
        assert load_recognizer(image_run, head=head).head == head


def test_a_recognizer_of_another_task_or_with_other_characters_is_refused(image_run, tmp_path):
    run = shutil.copytree(image_run, tmp_path / "run")
    charset = run / "tokenizer" / "charset.json"
    charset.write_text(charset.read_text().replace('"a"', '"z"'))
    with pytest.raises(InputError, match="not the characters"):
        load_recognizer(run)
    charset.unlink()
    with pytest.raises(InputError):
        load_recognizer(run)


def test_the_mean_of_checkpoints_reads_too(image_run, tmp_path):
    report = average([str(image_run)], last=2, out=tmp_path / "mean")
    assert "trimtab recognise" in report.unread
    assert load_recognizer(tmp_path / "mean").charset == load_recognizer(image_run).charset
