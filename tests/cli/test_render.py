from PIL import ImageFont

from trimtab.cli.main import main


def test_lines_become_images_with_a_list(tmp_path, capsys, own_cache):
    (tmp_path / "font.ttf").write_bytes(ImageFont.load_default(20).font_bytes)
    (tmp_path / "lines.txt").write_text("abc\n漢字\n", encoding="utf-8")
    given = [
        str(tmp_path / "lines.txt"),
        "--font",
        str(tmp_path / "font.ttf"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(["data", "render", *given]) == 0
    assert "1 images by 1 fonts" in capsys.readouterr().out
    assert (tmp_path / "out" / "labels.tsv").read_text() == "images/00000000.png\tabc\n"
    assert main(["data", "render", *given]) == 2
    assert "not empty" in capsys.readouterr().err
