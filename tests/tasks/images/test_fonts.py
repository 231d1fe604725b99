import pytest
from PIL import ImageFont

from trimtab.errors import InputError
from trimtab.tasks.images.fonts import characters_of, open_fonts


def test_a_font_has_the_characters_of_its_table_and_no_box_for_others(font_file, fonts):
    covered = set(characters_of(font_file.read_bytes()))
    assert {ord(each) for each in "Az09!~"} <= covered
    assert ord("漢") not in covered
    assert fonts.covering("abc 123") == [0]
    assert fonts.covering("漢") == []
    font = ImageFont.truetype(str(font_file), 20)
    missing = bytes(font.getmask("\uffff"))
    for code in sorted(covered - {0x20, 0xA0})[:200]:
        assert bytes(font.getmask(chr(code))) != missing


@pytest.mark.parametrize("content", [b"", b"no font", b"OTTO" + b"\xff" * 40])
def test_files_that_are_no_fonts_are_refused(tmp_path, content):
    (tmp_path / "a.ttf").write_bytes(content)
    for given in (tmp_path, tmp_path / "a.ttf", tmp_path / "missing"):
        with pytest.raises(InputError, match="fonts: "):
            open_fonts([str(given)], key="fonts")
