from PIL import ImageFont


def test_lines_become_images_with_a_list(tmp_path, call, own_cache):
    (tmp_path / "font.ttf").write_bytes(ImageFont.load_default(20).font_bytes)
    (tmp_path / "lines.txt").write_text("abc\n漢字\n", encoding="utf-8")
    given = (tmp_path / "lines.txt", "--font", tmp_path / "font.ttf", "--out", tmp_path / "out")
    told = call("data", "render", *given)
    assert told.exit_code == 0, told.stderr
    assert "1 images by 1 fonts" in told.output
    assert (tmp_path / "out" / "labels.tsv").read_text() == "images/00000000.png\tabc\n"
    again = call("data", "render", *given)
    assert again.exit_code == 2
    assert "not empty" in again.stderr
