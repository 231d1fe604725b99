import json

import pytest
import torch

from tests.image_run import draw_line, image_recipe, write_images
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def run(own_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    changes = {"length": "2 steps", "step.schedule.warmup": "1 steps"}
    return train(image_recipe(folder, **changes), out=folder / "run").run


@pytest.mark.slow
def test_each_image_is_a_line_in_the_order_given(run, tmp_path, call):
    write_images(tmp_path / "set", ["12", "ab", "c"])
    (tmp_path / "set" / "labels.tsv").unlink()
    told = call("recognise", run, tmp_path / "set" / "2.png", tmp_path / "set")
    assert told.exit_code == 0, told.stderr
    lines = [line.split("\t")[0].rpartition("/")[2] for line in told.stdout.splitlines()]
    assert lines == ["2.png", "0.png", "1.png", "2.png"]


def test_what_cannot_be_read_is_named_and_the_others_are_read(run, tmp_path, call):
    draw_line("12").save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"none")
    told = call("recognise", run, tmp_path / "bad.png", tmp_path / "good.png", "--json")
    assert told.exit_code == 1
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert rows[0]["error"].startswith("unreadable image")
    assert rows[1].keys() == {"image", "text", "confidence"}
    assert "1 of 2 images could not be read" in told.stderr


def test_a_list_is_scored(run, tmp_path, call):
    labels = write_images(tmp_path / "set", ["12", "ab"])
    told = json.loads(call("recognise", run, labels, "--score", "--json").stdout)
    assert {"cer", "wer", "exact", "loops", "confusions", "worst"} <= told.keys()
    assert "CER" in call("recognise", run, labels, "--score").stdout


@pytest.mark.parametrize(
    "arguments", [["missing.png"], ["--head", "attention", "{labels}"], ["--score", "missing.tsv"]]
)
def test_wrong_input_ends_with_two_and_no_traceback(run, tmp_path, call, arguments):
    labels = write_images(tmp_path / "set", ["12"])
    given = [each.format(labels=labels) for each in arguments]
    told = call("recognise", run, *given)
    assert told.exit_code == 2
    assert told.stderr.startswith("error:")
    assert "Traceback" not in told.stderr


def test_memory_that_runs_out_is_told_with_what_to_do(run, tmp_path, call, monkeypatch):
    draw_line("12").save(tmp_path / "good.png")

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(torch.nn.functional, "linear", full)
    told = call("recognise", run, tmp_path / "good.png")
    assert told.exit_code == 1
    assert "error: memory ran out: CUDA out of memory. Tried to allocate 2.00 GiB." in told.stderr
    assert "fix     compute on the CPU with --device cpu" in told.stderr
