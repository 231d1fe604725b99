import pytest

from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.recognition.write_rendered import write_rendered


def test_a_text_becomes_a_folder_of_images_that_is_the_same_each_time(font_file, tmp_path, own_cache):
    text = tmp_path / "lines.txt"
    text.write_text("abc\n漢字\n123\n", encoding="utf-8")
    reports = [
        write_rendered(
            text, tmp_path / name, fonts=[str(font_file)], count=5, seed=3, augment=True, progress=Silent()
        )
        for name in ("one", "two")
    ]
    assert reports[0].written == 3  # of five, for which the second line is passed over twice
    assert reports[0].left_out == {"no font has its characters": [2]}
    assert "no font has its characters (lines 2)" in reports[0].render()
    one, other = (sorted((tmp_path / name).rglob("*.*")) for name in ("one", "two"))
    assert [each.read_bytes() for each in one] == [each.read_bytes() for each in other]
    with pytest.raises(InputError, match="not empty"):
        write_rendered(
            text, tmp_path / "one", fonts=[str(font_file)], count=1, seed=3, augment=False, progress=Silent()
        )
