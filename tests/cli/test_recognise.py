import json

import pytest

from tests.image_run import draw_line, image_recipe, write_images
from trimtab.cli.main import main
from trimtab.launch import train


@pytest.fixture(scope="module")
def run(own_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    return train(image_recipe(folder, length="2 steps"), out=folder / "run").run


def test_each_image_is_a_line_in_the_order_given(run, tmp_path, capsys):
    write_images(tmp_path / "set", ["12", "ab", "c"])
    (tmp_path / "set" / "labels.tsv").unlink()
    assert main(["recognise", str(run), str(tmp_path / "set" / "2.png"), str(tmp_path / "set")]) == 0
    lines = [line.split("\t")[0].rpartition("/")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["2.png", "0.png", "1.png", "2.png"]


def test_what_cannot_be_read_is_named_and_the_others_are_read(run, tmp_path, capsys):
    draw_line("12").save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"none")
    assert main(["recognise", str(run), str(tmp_path / "bad.png"), str(tmp_path / "good.png"), "--json"]) == 1
    told = capsys.readouterr()
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert rows[0]["error"].startswith("unreadable image")
    assert rows[1].keys() == {"image", "text", "confidence"}
    assert "1 of 2 images could not be read" in told.err


def test_a_list_is_scored(run, tmp_path, capsys):
    labels = write_images(tmp_path / "set", ["12", "ab"])
    assert main(["recognise", str(run), str(labels), "--score", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"cer", "wer", "exact", "loops", "confusions", "worst"} <= told.keys()
    assert main(["recognise", str(run), str(labels), "--score"]) == 0
    assert "CER" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["missing.png"], ["--head", "attention", "{labels}"], ["--score", "missing.tsv"]]
)
def test_wrong_input_ends_with_two_and_no_traceback(run, tmp_path, capsys, arguments):
    labels = write_images(tmp_path / "set", ["12"])
    given = [each.format(labels=labels) for each in arguments]
    assert main(["recognise", str(run), *given]) == 2
    assert "Traceback" not in capsys.readouterr().err
